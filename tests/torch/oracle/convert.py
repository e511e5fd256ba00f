"""torch sample -> fresh arguments of a subject, and results of a subject -> NumPy.

In: any nest of lists, tuples and dicts of tensors, dtypes, devices and Python values.
Out: the same nest over the subject. Tensors keep shape, strides, storage offset, dtype,
`requires_grad`, and two tensors that share a storage still share one.
"""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np
import torch

from .subject import Subject


class SkipSample(Exception):
    """The sample holds something outside this oracle (its reason is the message)."""


MOST_DIMENSIONS = 64  # of a NumPy array
UNSUPPORTED_DTYPES = {
    torch.complex32: "complex32",
    torch.float8_e4m3fn: "float8",
    torch.float8_e5m2: "float8",
    torch.float8_e4m3fnuz: "float8",
    torch.float8_e5m2fnuz: "float8",
    torch.uint16: "uint16",
    torch.uint32: "uint32",
    torch.uint64: "uint64",
}


def storage_array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """A copy of the whole storage of a tensor as a flat array."""
    storage = tensor.untyped_storage()
    count = storage.nbytes() // tensor.element_size()
    flat = torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (count,), (1,))
    return torch_to_array(flat).copy()


def plain_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor without gradient, lazy conjugate or negation, and backed by memory."""
    plain = tensor.detach().resolve_conj().resolve_neg()
    # torch's gradients may be zeros without storage; NumPy cannot see those.
    return torch.zeros_like(plain) + plain if plain._is_zerotensor() else plain


def torch_to_array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    plain = plain_tensor(tensor)
    if plain.dtype is torch.bfloat16:
        bits = plain.contiguous().view(torch.int16).numpy()
        return bits.view(ml_dtypes.bfloat16)
    result: np.ndarray[Any, Any] = plain.numpy()
    return result


def convert(subject: Subject, value: Any) -> Any:
    """A fresh copy of a nest of torch values over the subject."""
    tensors: dict[int, torch.Tensor] = {}
    collect_tensors(value, tensors)
    seen: set[int] = set()
    shared: set[int] = set()
    for tensor in tensors.values():
        if tensor.layout is torch.strided and tensor.device.type == "cpu":
            pointer = tensor.untyped_storage().data_ptr()
            (shared if pointer in seen else seen).add(pointer)
    return Converter(subject, shared - {0})(value)


def collect_tensors(value: Any, found: dict[int, torch.Tensor]) -> None:
    """Every tensor of a nest, by identity, in order."""
    if isinstance(value, torch.Tensor):
        found.setdefault(id(value), value)
    elif isinstance(value, dict):
        for item in value.values():
            collect_tensors(item, found)
    elif isinstance(value, list | tuple):
        for item in value:
            collect_tensors(item, found)


class Converter:
    """One conversion of one sample; identity of tensors and of storages is kept inside it."""

    def __init__(self, subject: Subject, shared: set[int]) -> None:
        self.subject = subject
        self._shared = shared
        self._tensors: dict[int, Any] = {}
        self._bases: dict[tuple[int, torch.dtype], Any] = {}

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, torch.Size):
            return self.subject.resolve("Size")(tuple(value))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self(item) for item in value))
        if isinstance(value, tuple):
            return tuple(self(item) for item in value)
        if isinstance(value, list):
            return [self(item) for item in value]
        if isinstance(value, dict):
            return {key: self(item) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(self(value.start), self(value.stop), self(value.step))
        return self.plain(value)

    def plain(self, value: Any) -> Any:
        """What is neither a tensor nor a container."""
        if isinstance(value, torch.dtype):
            return self.dtype(value)
        if isinstance(value, torch.device):
            return self.subject.resolve("device")(str(value))
        if isinstance(value, torch.memory_format | torch.layout):
            if value not in (torch.strided,) and isinstance(value, torch.layout):
                raise SkipSample(f"layout {value}")
            return self.subject.resolve(str(value).removeprefix("torch."))
        if isinstance(value, torch.Generator):
            generator = self.subject.resolve("Generator")()
            generator.manual_seed(value.initial_seed())
            return generator
        if isinstance(value, torch.nn.PairwiseDistance):
            function = self.subject.resolve("nn.functional.pairwise_distance")
            return functools.partial(function, p=value.norm, eps=value.eps, keepdim=value.keepdim)
        if callable(value):
            return self.subject.rebind(value)
        return value

    def dtype(self, dtype: torch.dtype) -> Any:
        if dtype in UNSUPPORTED_DTYPES:
            raise SkipSample(f"dtype {UNSUPPORTED_DTYPES[dtype]}")
        return self.subject.resolve(str(dtype).removeprefix("torch."))

    def tensor(self, value: torch.Tensor) -> Any:
        known = self._tensors.get(id(value))
        if known is not None:
            return known
        if value.layout is not torch.strided or value.is_quantized:
            raise SkipSample(f"layout {value.layout}")
        if value.is_nested or value.device.type not in ("cpu", "meta"):
            raise SkipSample("nested tensor" if value.is_nested else f"device {value.device}")
        if value.dim() > MOST_DIMENSIONS:
            raise SkipSample(f"more than {MOST_DIMENSIONS} dimensions")
        self.dtype(value.dtype)
        built = self._meta(value) if value.device.type == "meta" else self._strided(value)
        if value.requires_grad:
            built.requires_grad_(True)
        self._tensors[id(value)] = built
        return built

    def _meta(self, value: torch.Tensor) -> Any:
        dtype = self.dtype(value.dtype)
        return self.subject.resolve("empty_strided")(
            tuple(value.shape), value.stride(), dtype=dtype, device="meta")

    def _strided(self, value: torch.Tensor) -> Any:
        plain = plain_tensor(value)
        storage = plain.untyped_storage()
        pointer = storage.data_ptr()
        whole = storage.nbytes() == plain.numel() * plain.element_size()
        if not storage.nbytes():  # nothing to copy, and memory of the subject's own can be resized
            return self.subject.resolve("empty")(
                tuple(plain.shape), dtype=self.dtype(plain.dtype))
        if whole and plain.is_contiguous() and pointer not in self._shared:
            array = torch_to_array(plain).copy()
            return array_to_subject(self.subject, array.reshape(tuple(plain.shape)))
        key = (pointer, plain.dtype)
        base = self._bases.get(key) if pointer in self._shared else None
        if base is None:
            base = array_to_subject(self.subject, storage_array(plain))
            self._bases[key] = base
        as_strided = self.subject.resolve("as_strided")
        view = as_strided(base, tuple(plain.shape), plain.stride(), plain.storage_offset())
        return view.detach()


def array_to_subject(subject: Subject, array: np.ndarray[Any, Any]) -> Any:
    """A tensor of the subject that owns a copy of the array."""
    if array.dtype == ml_dtypes.bfloat16:
        if subject.is_reference:
            return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
        wide = subject.resolve("from_numpy")(array.astype(np.float32))
        return wide.to(subject.resolve("bfloat16"))
    if subject.is_reference:
        return torch.from_numpy(array)
    return subject.resolve("tensor")(array)  # memory that NumPy does not share, as a user's is


def to_array(subject: Subject, tensor: Any) -> np.ndarray[Any, Any]:
    """The values of a tensor of the subject."""
    if isinstance(tensor, torch.Tensor):
        return torch_to_array(tensor)
    plain = tensor.detach()
    if dtype_name(plain.dtype) == "bfloat16":
        plain = plain.to(subject.resolve("float32"))
    result: np.ndarray[Any, Any] = np.asarray(plain.numpy())
    return result


def dtype_name(dtype: Any) -> str:
    """`torch.float32` or the subject's own -> `float32`."""
    return str(dtype).rsplit(".", 1)[-1]


def is_tensor(subject: Subject, value: Any) -> bool:
    return isinstance(value, torch.Tensor | subject.module.Tensor)
