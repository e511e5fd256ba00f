"""`torch.types`: names for annotations."""

import builtins
import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from thunk.tensor.storage import TypedStorage, UntypedStorage
from thunk.tensor.tensor import Tensor
from thunk.types.device import device as _device
from thunk.types.dtype import dtype as _dtype
from thunk.types.layout import layout as _layout
from thunk.types.size import Size

_int = builtins.int
_float = builtins.float
_bool = builtins.bool
_complex = builtins.complex

Number: TypeAlias = int | float | bool
Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | Any
Storage: TypeAlias = UntypedStorage | TypedStorage
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_symsize: TypeAlias = _size
SymInt: TypeAlias = int
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool

__all__ = [
    "BoolLikeType", "Device", "FileLike", "FloatLikeType", "IntLikeType", "Number", "Storage",
    "SymInt", "_bool", "_complex", "_device", "_dtype", "_float", "_int", "_layout", "_size",
]  # fmt: skip
