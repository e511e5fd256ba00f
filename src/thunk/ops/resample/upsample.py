"""Resizing pictures: every output element is a weighted sum of input elements, axis by axis.

Enters: pictures and a size or scales. Leaves: pictures of that size. Invariant: each operator and
its backward are linear and each other's adjoint; one table row declares both.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import declare
from thunk.ops.registry import t
from thunk.ops.rules.spatial import FLOATING_ONLY, check_dtype, picture_spec
from thunk.types.dtype import dtype, uint8
from thunk.types.spec import TensorSpec

_AXES = ("d", "h", "w")


@dataclass(frozen=True, slots=True)
class Resize:
    """One way to resize: its operators' name, and what their signature holds."""

    name: str
    dims: int
    aligns: bool  # takes `align_corners`
    bytes_too: bool  # takes uint8
    doc: str

    @property
    def scale_names(self) -> list[str]:
        if self.dims == 1:
            return ["scales"]
        return [f"scales_{axis}" for axis in _AXES[-self.dims :]]

    @property
    def scales(self) -> str:
        return ", ".join(f"float? {name}=None" for name in self.scale_names)


_NEAREST = "The nearest element"
_EXACT = "The element nearest to the output element's centre"
RESIZES = (
    *[Resize(f"upsample_nearest{n}d", n, False, True, _NEAREST) for n in (1, 2, 3)],
    *[Resize(f"_upsample_nearest_exact{n}d", n, False, True, _EXACT) for n in (1, 2, 3)],
    Resize("upsample_linear1d", 1, True, False, "Linear interpolation"),
    Resize("upsample_bilinear2d", 2, True, True, "Bilinear interpolation"),
    Resize("upsample_trilinear3d", 3, True, False, "Trilinear interpolation"),
    Resize("upsample_bicubic2d", 2, True, True, "Bicubic interpolation"),
    Resize("_upsample_bilinear2d_aa", 2, True, True, "Bilinear filtering without aliasing"),
    Resize("_upsample_bicubic2d_aa", 2, True, True, "Bicubic filtering without aliasing"),
    Resize("_upsample_lanczos2d_aa", 2, True, True, "Lanczos filtering without aliasing"),
)


def _check_sizes(shape: Sequence[int], output_size: Sequence[int], dims: int) -> None:
    if len(output_size) != dims:
        raise Mismatch(
            f"It is expected output_size equals to {dims}, but got size {len(output_size)}"
        )
    if len(shape) != dims + 2:
        raise Mismatch(
            f"It is expected input_size equals to {dims + 2}, but got size {len(shape)}"
        )
    if min(*shape[2:], *output_size) <= 0:
        raise Mismatch(
            "Input and output sizes should be greater than 0, but got input "
            f"{tuple(shape[2:])} and output {tuple(output_size)}"
        )


def _forward_spec(resize: Resize) -> Any:
    extra: tuple[dtype, ...] = (uint8,) if resize.bytes_too else ()

    def spec(self: TensorSpec, output_size: Any, *rest: Any) -> TensorSpec:
        _check_sizes(self.shape, output_size, resize.dims)
        if self.shape[1] == 0:
            raise Mismatch(
                f"Non-empty {resize.dims + 2}D data tensor expected but got a tensor with sizes "
                f"{list(self.shape)}"
            )
        check_dtype(self, FLOATING_ONLY, *extra)
        return picture_spec(self, (*self.shape[:2], *output_size))

    return spec


def _backward_spec(resize: Resize) -> Any:
    def spec(
        grad_output: TensorSpec, output_size: Any, input_size: Any, *rest: Any
    ) -> TensorSpec:
        _check_sizes(input_size, output_size, resize.dims)
        shape = (*input_size[:2], *output_size)
        if grad_output.shape != shape:
            raise expected(f"grad_output of shape {list(shape)}", list(grad_output.shape))
        check_dtype(grad_output, FLOATING_ONLY)
        return picture_spec(grad_output, tuple(input_size))

    return spec


def _reading(names: Sequence[str], function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as a formula that reads `names`, in this order."""

    def formula(*values: Any) -> Any:
        return function(*values)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in names]
    made: Any = formula
    made.__signature__ = inspect.Signature(parameters)
    return formula


def _declare_resize(resize: Resize) -> None:
    name, dims = resize.name, resize.dims
    options = [*(["align_corners"] if resize.aligns else []), *resize.scale_names]
    flag = "bool align_corners, " if resize.aligns else ""

    def forward_vjp(grad: Any, self_spec: TensorSpec, output_size: Any, *rest: Any) -> Any:
        return getattr(t, f"{name}_backward")(grad, output_size, self_spec.shape, *rest)

    def backward_vjp(grad: Any, output_size: Any, *rest: Any) -> Any:
        return getattr(t, name)(grad, output_size, *rest)

    static = " ".join(resize.scale_names)
    declare(
        f"{name}(Tensor self, SymInt[{dims}] output_size, {flag}{resize.scales}) -> Tensor",
        doc=f"{resize.doc} at each place of a picture of another size.",
        spec=_forward_spec(resize),
        vjp={"self": _reading(["grad", "self_spec", "output_size", *options], forward_vjp)},
        variants="",
        static=static,
    )
    declare(
        f"{name}_backward(Tensor grad_output, SymInt[{dims}] output_size, "
        f"SymInt[{dims + 2}] input_size, {flag}{resize.scales}) -> Tensor",
        doc=f"The gradient of `{name}`.",
        spec=_backward_spec(resize),
        vjp={"grad_output": _reading(["grad", "output_size", *options], backward_vjp)},
        variants="",
        static=static,
    )
    declare(
        f"{name}.vec(Tensor input, SymInt[]? output_size, {flag}float[]? scale_factors) -> Tensor",
        doc=f"`{name}` to a size, or by scales.",
        decompose=_by_size_or_scales(resize),
        variants="",
    )


def _by_size_or_scales(resize: Resize) -> Any:
    def decompose(input: Any, output_size: Any, *rest: Any) -> Any:
        *flags, factors = rest
        size = _output_size(input.shape[2:], output_size, factors)
        scales = factors or (None,) * resize.dims
        return getattr(t, resize.name)(input, size, *flags, *scales)

    return decompose


def _output_size(
    size: Sequence[int], output_size: Sequence[int] | None, factors: Sequence[float] | None
) -> list[int]:
    """The size that is given, or that the scales make; exactly one of them is there."""
    if (output_size is None) == (factors is None):
        raise Mismatch("Must specify exactly one of output_size and scale_factors")
    if output_size is not None:
        return list(output_size)
    assert factors is not None
    if len(factors) != len(size):
        raise expected(f"{len(size)} scale_factors, one a spatial dimension", list(factors))
    return [int(n * factor) for n, factor in zip(size, factors)]


for _resize in RESIZES:
    _declare_resize(_resize)
