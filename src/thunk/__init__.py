"""Thunk: a deep-learning framework with PyTorch's API, lazy all the way down."""

from math import e, inf, nan, pi

from thunk import assembly as _assembly
from thunk import autograd, nn, random
from thunk.autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from thunk.base.version import __version__
from thunk.tensor.creation import (
    as_tensor,
    asarray,
    from_dlpack,
    from_numpy,
    frombuffer,
    tensor,
)
from thunk.tensor.generator import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from thunk.tensor.tensor import Tensor
from thunk.types import dtype as _dtypes
from thunk.types.device import device
from thunk.types.dtype import dtype
from thunk.types.info import finfo, iinfo
from thunk.types.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    sparse_coo,
    sparse_csr,
    strided,
)
from thunk.types.promotion import get_default_dtype, set_default_dtype
from thunk.types.size import Size
from thunk.types.tensor_base import is_tensor

_assembly.publish(globals())
globals().update({each.name: each for each in _dtypes.all_dtypes()})
globals().update(_dtypes.ALIASES)

__all__ = [
    "Generator", "Size", "Tensor", "__version__", "as_tensor", "asarray", "autograd", "channels_last", "channels_last_3d",
    "contiguous_format", "device", "dtype", "e", "enable_grad", "finfo", "from_dlpack",
    "from_numpy", "frombuffer",
    "get_default_dtype", "iinfo", "inf", "inference_mode", "is_grad_enabled",
    "is_inference_mode_enabled", "is_tensor", "layout", "memory_format", "nan", "nn", "no_grad",
    "pi", "preserve_format", "set_default_dtype", "set_grad_enabled", "sparse_coo", "sparse_csr",
    "strided", "tensor",
]  # fmt: skip
