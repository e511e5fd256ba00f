"""Padding: with a constant, with the mirror image, with the edge, with the other end."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.copy.formats import format_strides, suggested_format
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.numbers import check_fits
from thunk.types.dtype import bool_
from thunk.types.spec import TensorSpec


def pairs_by_dim(pad: Any, ndim: int) -> list[tuple[int, int]]:
    """The widths before and after each dimension; `pad` starts with the last dimension."""
    found = [(0, 0)] * ndim
    for position in range(len(pad) // 2):
        found[ndim - 1 - position] = (pad[2 * position], pad[2 * position + 1])
    return found


def _constant(self: TensorSpec, pad: Any, value: Any) -> TensorSpec:
    if len(pad) % 2:
        raise Mismatch(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * self.ndim:
        raise Mismatch(
            f"Length of pad should be no more than twice the number of dimensions of the input. "
            f"Pad length is {len(pad)} while the input has {self.ndim} dimensions."
        )
    check_fits(value, self.dtype)
    shape = []
    for size, (before, after) in zip(self.shape, pairs_by_dim(pad, self.ndim), strict=True):
        if size + before + after < 0:
            raise Mismatch(
                f"The input size {size}, plus negative padding {before} and {after} resulted in a "
                "negative output size, which is invalid."
            )
        shape.append(size + before + after)
    strides = format_strides(tuple(shape), suggested_format(self))
    return TensorSpec(tuple(shape), self.dtype, strides, 0, self.device)


declare(
    "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
    doc="`value` added around the last dimensions, or parts cut off where widths are negative.",
    spec=_constant,
    vjp={"self": lambda grad, pad: t.constant_pad_nd(grad, tuple(-each for each in pad), 0)},
    variants="function out",
)


def _expect_image(self: TensorSpec, rank: int) -> None:
    """PyTorch takes `rank` spatial dimensions behind channels, and perhaps a batch."""
    batched = self.ndim == rank + 2
    inner = self.shape[1:] if batched else self.shape
    if self.ndim not in (rank + 1, rank + 2) or 0 in inner:
        raise Mismatch(
            f"Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with possibly 0 batch size "
            f"and other non-zero dimensions for input, but got: {list(self.shape)}"
        )


def _padded(self: TensorSpec, padding: Any, rank: int, mirror: bool) -> TensorSpec:
    if len(padding) != 2 * rank:
        raise Mismatch(f"padding size is expected to be {2 * rank}, but got: {len(padding)}")
    _expect_image(self, rank)
    if mirror and self.dtype is bool_:
        raise expected("a dtype that is not bool", "bool", "convert it", NotImplementedError)
    shape = list(self.shape)
    for dim, (before, after) in enumerate(pairs_by_dim(padding, self.ndim)):
        size = self.shape[dim]
        if mirror and max(before, after) >= size and (before or after):
            raise Mismatch(
                "Padding size should be less than the corresponding input dimension, but got: "
                f"padding ({before}, {after}) at dimension {dim} of input {list(self.shape)}"
            )
        shape[dim] = size + before + after
        if dim >= self.ndim - rank and shape[dim] < 1:
            raise Mismatch(
                f"input (size: {list(self.shape)}) is too small for padding {list(padding)}: "
                f"calculated output size {shape[dim]} at dimension {dim}"
            )
    strides = format_strides(tuple(shape), suggested_format(self))
    return TensorSpec(tuple(shape), self.dtype, strides, 0, self.device)


def _padded_back(
    grad_output: TensorSpec, self: TensorSpec, padding: Any, rank: int, mirror: bool
) -> TensorSpec:
    wanted = _padded(self, padding, rank, mirror)
    if grad_output.shape != wanted.shape:
        raise expected(
            f"a grad_output of shape {list(wanted.shape)}", f"{list(grad_output.shape)}"
        )
    return self.with_shape(self.shape)


def _declare_mode(name: str, rank: int, mirror: bool) -> None:
    full = f"{name}_pad{rank}d"
    declare(
        f"{full}(Tensor self, SymInt[{2 * rank}] padding) -> Tensor",
        doc=f"The last {rank} dimensions padded with their "
        + ("mirror image." if mirror else "edges."),
        spec=lambda self, padding: _padded(self, padding, rank, mirror),
        vjp={
            "self": lambda grad, self, padding: getattr(t, f"{full}_backward")(grad, self, padding)
        },
        variants="",
    )
    declare(
        f"{full}_backward(Tensor grad_output, Tensor self, SymInt[{2 * rank}] padding) -> Tensor",
        doc=f"The gradient of `{full}`: every element's own and those of its copies.",
        spec=lambda grad_output, self, padding: _padded_back(
            grad_output, self, padding, rank, mirror
        ),
        vjp={
            "grad_output": lambda grad, padding: getattr(t, full)(grad, padding),
            "self": lambda grad, self_spec: t.zeros(
                self_spec.shape, dtype=self_spec.dtype, device=self_spec.device
            ),
        },
        variants="",
    )


for _rank in (1, 2, 3):
    _declare_mode("reflection", _rank, mirror=True)
    _declare_mode("replication", _rank, mirror=False)


@composite("_pad_circular(Tensor self, SymInt[] pad) -> Tensor", variants="")
def pad_circular(self: Any, pad: Any) -> Any:
    """Every dimension continued with its other end."""
    spec: TensorSpec = self._spec
    rank = len(pad) // 2
    if len(pad) % 2 or spec.ndim not in (rank + 1, rank + 2):
        raise Mismatch(
            f"Invalid padding size, expected {2 * max(spec.ndim - 2, 0)} but got {len(pad)}"
        )
    for dim, (before, after) in enumerate(pairs_by_dim(pad, spec.ndim)):
        size = spec.shape[dim]
        if max(before, after) > size:
            raise Mismatch("Padding value causes wrapping around more than once.")
        if size + before + after < 0:
            raise Mismatch("Negative padding value is resulting in an empty dimension")
        if before or after:
            self = _wrapped(self, dim, before, after)
    return self if self._spec is not spec else t.clone(self)


def _wrapped(self: Any, dim: int, before: int, after: int) -> Any:
    size = self._spec.shape[dim]
    body = t.slice(self, dim, max(-before, 0), size - max(-after, 0))
    length = body._spec.shape[dim]
    if max(before, after) > length:
        raise Mismatch(
            f"expected at most {length} elements of circular padding behind what negative padding "
            f"leaves of dimension {dim}, got {max(before, after)}"
        )
    parts = [body]
    if before > 0:
        parts.insert(0, t.slice(body, dim, length - before, length))
    if after > 0:
        parts.append(t.slice(body, dim, 0, after))
    return t.cat(parts, dim)


_MODES = {"reflect": "reflection", "replicate": "replication"}


@composite(
    'pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor',
    variants="function",
    module="nn",
)
def pad(self: Any, pad: Any, mode: str, value: float | None) -> Any:
    """The last dimensions padded: `mode` is constant, reflect, replicate or circular."""
    ndim = self._spec.ndim
    if len(pad) % 2:
        raise Mismatch("Padding length must be divisible by 2")
    if len(pad) > 2 * ndim:
        raise Mismatch(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {ndim}"
        )
    if mode == "constant":
        return t.constant_pad_nd(self, pad, 0 if value is None else value)
    if value:
        raise Mismatch(f'Padding mode "{mode}" doesn\'t take in value argument')
    rank = len(pad) // 2
    if rank in (1, 2, 3) and ndim in (rank + 1, rank + 2):
        if mode == "circular":
            return t._pad_circular(self, pad)
        if mode in _MODES:
            return getattr(t, f"{_MODES[mode]}_pad{rank}d")(self, pad)
        raise Mismatch(f"Unrecognised padding mode {mode}", NotImplementedError)
    raise Mismatch(
        f"Padding size {len(pad)} is not supported for {ndim}D input tensor; modes other than "
        "constant pad the last 1, 2 or 3 dimensions behind channels and an optional batch",
        NotImplementedError,
    )
