"""Commands that train and evaluate agents; run them from a clone, as ``python -m training.NAME --help``.

train      self-play, made for these games: start here
train_expectimax looking one turn ahead: the strongest where nothing is hidden
train_sb3  the familiar route: MaskablePPO of sb3-contrib
train_rllib the distributed route: RLlib on a cluster of ray
evaluate   how strong checkpoints and fixed agents are
tournament ratings of any number of agents that all meet
exploit    how much an opponent trained against one agent can gain
"""

import importlib.util
import os

# Threads of torch that wait for one another shall sleep, not spin: spinning gains a tenth on an idle machine, but where anything
# else runs on the same cores (the threads that step the games, too) it can make training ten times slower. Read as torch loads.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

_NEEDED = ("torch", "safetensors", "jsonargparse", "rich", "tqdm", "tensorboard", "yaml", "matplotlib")
_missing = [package for package in _NEEDED if importlib.util.find_spec(package) is None]
if _missing:
    raise SystemExit(f'error: training needs {", ".join(_missing)}: pip install "pyramid-envs[train]"')
