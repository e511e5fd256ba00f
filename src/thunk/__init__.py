"""Thunk: a deep-learning framework with PyTorch's API, lazy all the way down."""

from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any

from thunk import (
    accelerator,
    amp,
    autograd,
    cpu,
    cuda,
    distributed,
    distributions,
    fft,
    func,
    futures,
    hub,
    jit,
    library,
    linalg,
    masked,
    mps,
    multiprocessing,
    nn,
    optim,
    profiler,
    random,
    return_types,
    serialization,
    signal,
    special,
    testing,
    utils,
    xpu,
)
from thunk import assembly as _assembly
from thunk.absent import Event, OutOfMemoryError, Stream
from thunk.amp.autocast_mode import (
    autocast,
    clear_autocast_cache,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_cpu_dtype,
    set_autocast_cpu_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
    set_autocast_gpu_dtype,
)
from thunk.asserts import (
    _assert,
    _check,
    _check_index,
    _check_is_size,
    _check_not_implemented,
    _check_type,
    _check_value,
    _check_with,
)
from thunk.autograd import (
    enable_grad,
    inference_mode,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from thunk.base.missing import MissingName as _MissingName
from thunk.base.version import __version__
from thunk.compiling import compile
from thunk.cpu import get_device_module
from thunk.foreach import functions as _foreach_functions
from thunk.lazy.eager import eager
from thunk.serialization import load, save
from thunk.symbols import (
    SymBool,
    SymFloat,
    SymInt,
    sym_float,
    sym_int,
    sym_ite,
    sym_max,
    sym_min,
    sym_not,
    sym_sum,
)
from thunk.tensor import legacy as _legacy
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
from thunk.tensor.legacy import set_default_tensor_type
from thunk.tensor.printing import set_printoptions
from thunk.tensor.queries import (
    broadcast_shapes,
    can_cast,
    get_device,
    is_distributed,
    is_inference,
    is_same_size,
    numel,
    promote_types,
    result_type,
    typename,
)
from thunk.tensor.settings import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    get_num_threads,
    is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    set_num_threads,
    set_warn_always,
    use_deterministic_algorithms,
)
from thunk.tensor.storage import TypedStorage, UntypedStorage, is_storage
from thunk.tensor.tensor import Tensor
from thunk.transforms import vmap
from thunk.types import dtype as _dtypes
from thunk.types.device import device, get_default_device, set_default_device
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

if TYPE_CHECKING:
    from thunk._functions import *  # noqa: F403

newaxis = None

__all__ = [
    "Generator", "Size", "Tensor", "TypedStorage", "UntypedStorage", "__version__",
    "are_deterministic_algorithms_enabled", "as_tensor", "asarray", "autograd", "broadcast_shapes",
    "can_cast", "channels_last", "channels_last_3d", "contiguous_format", "cuda",
    "default_generator", "device", "distributions", "dtype", "e", "enable_grad", "fft", "finfo",
    "from_dlpack", "from_numpy", "frombuffer", "func", "get_default_device", "get_default_dtype",
    "get_deterministic_debug_mode", "get_device", "get_float32_matmul_precision",
    "get_num_interop_threads", "get_num_threads", "get_rng_state", "iinfo", "inf",
    "inference_mode", "initial_seed", "is_anomaly_check_nan_enabled", "is_anomaly_enabled",
    "is_deterministic_algorithms_warn_only_enabled", "is_distributed", "is_grad_enabled",
    "is_inference", "is_inference_mode_enabled", "is_same_size", "is_storage", "is_tensor",
    "is_warn_always_enabled", "layout", "linalg", "manual_seed", "masked", "memory_format", "nan",
    "newaxis", "nn", "no_grad", "numel", "optim", "pi", "preserve_format", "promote_types",
    "random", "result_type", "return_types", "seed", "set_default_device", "set_default_dtype",
    "set_default_tensor_type", "set_deterministic_debug_mode", "set_float32_matmul_precision",
    "set_flush_denormal", "set_grad_enabled", "set_num_interop_threads", "set_num_threads",
    "set_printoptions", "set_rng_state", "set_warn_always", "signal", "sparse_coo", "sparse_csr",
    "special", "strided", "tensor", "typename", "use_deterministic_algorithms", "utils",
]  # fmt: skip
__all__ += [
    "Event", "OutOfMemoryError", "Stream", "SymBool", "SymFloat", "SymInt",
    "_assert", "_check", "_check_index", "_check_is_size",
    "_check_not_implemented", "_check_type", "_check_value", "_check_with", "accelerator", "amp",
    "autocast", "clear_autocast_cache", "compile", "cpu", "distributed", "eager",
    "futures", "get_autocast_cpu_dtype", "get_device_module",
    "get_autocast_dtype", "get_autocast_gpu_dtype", "hub", "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled", "is_autocast_enabled", "jit", "library", "load", "mps",
    "multiprocessing", "profiler", "save", "serialization", "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled",
    "set_autocast_gpu_dtype", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not",
    "sym_sum", "testing", "vmap", "xpu",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module 'thunk' has no attribute {name!r}")
        raise _MissingName("thunk", name, lambda: __all__)


# Last, since the dtypes' names (`float`, `bool`...) hide builtins from here on.
__all__ += _assembly.publish(globals())
globals().update(_legacy.TYPES)
globals().update(_foreach_functions())
globals().update({each.name: each for each in _dtypes.all_dtypes()})
globals().update(_dtypes.ALIASES)
