"""Commands that train and evaluate agents; run them from a clone, as ``python -m training.NAME --help``.

train      self-play, made for these games: start here
train_sb3  the familiar route: MaskablePPO of sb3-contrib
evaluate   how strong checkpoints are
"""

import importlib.util

_NEEDED = ("torch", "safetensors", "jsonargparse", "rich", "tqdm", "tensorboard", "yaml")
_missing = [package for package in _NEEDED if importlib.util.find_spec(package) is None]
if _missing:
    raise SystemExit(f'error: training needs {", ".join(_missing)}: pip install "pyramid-envs[train]"')
