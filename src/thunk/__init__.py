"""Thunk: a deep-learning framework with PyTorch's API, lazy all the way down."""

from thunk import assembly as _assembly
from thunk.autograd import modes as _modes
from thunk.base.version import __version__
from thunk.tensor.creation import from_numpy, tensor
from thunk.tensor.tensor import Tensor

no_grad = _modes.no_grad
enable_grad = _modes.enable_grad
_assembly.publish(globals())

__all__ = ["Tensor", "__version__", "enable_grad", "from_numpy", "no_grad", "tensor"]
