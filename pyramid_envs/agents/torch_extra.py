"""torch and safetensors, which all else here does without, imported in one place: their absence has one clear error."""

from pyramid_envs.errors import MissingExtraError

try:
    import safetensors.torch as safetensors
    import torch
    from safetensors import SafetensorError
    from torch import nn
except ImportError as error:
    raise MissingExtraError(f'learned agents need torch and safetensors: pip install "pyramid-envs[train]" ({error})') from error

__all__ = ["SafetensorError", "nn", "safetensors", "torch"]
