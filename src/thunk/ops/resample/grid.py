"""Sampling pictures at the places of a grid, and grids of affine maps.

Enters: pictures and a grid of coordinates from -1 to 1. Leaves: the pictures there. Invariant: the
result is linear in the pictures; of the grid it has a gradient almost everywhere.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ir.opdef import MissingGradient
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.spatial import FLOATING_ONLY, check_dtype, check_same_dtype, plain_spec
from thunk.types.spec import TensorSpec

BILINEAR, NEAREST, BICUBIC = range(3)  # PyTorch's numbers of the modes
ZEROS, BORDER, REFLECTION = range(3)

_OPTIONS = "int interpolation_mode, int padding_mode, bool align_corners"


def _check_operands(input: TensorSpec, grid: TensorSpec) -> None:
    sizes = f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.shape[0] != grid.shape[0]:
        raise Mismatch(f"expected grid and input to have same batch size, but {sizes}")
    if grid.shape[-1] != input.ndim - 2:
        raise Mismatch(f"expected {input.ndim - 2} coordinates at each place of grid, but {sizes}")
    if 0 in input.shape[2:]:
        raise Mismatch(f"expected input to have non-empty spatial dimensions, but {sizes}")


def _sampled(dims: int) -> Any:
    def spec(
        input: TensorSpec, grid: TensorSpec, interpolation_mode: int, padding_mode: int,
        align_corners: bool,
    ) -> TensorSpec:  # fmt: skip
        if input.ndim != dims + 2 or grid.ndim != dims + 2:
            raise Mismatch(
                f"expected {dims + 2}D input and grid with same number of dimensions, but got "
                f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
            )
        _check_operands(input, grid)
        if dims == 3 and interpolation_mode == BICUBIC:
            raise Mismatch("bicubic interpolation only supports 4D input")
        check_dtype(input, FLOATING_ONLY)
        check_same_dtype(input, grid, "input and grid")
        return plain_spec(input, (*input.shape[:2], *grid.shape[1:-1]))

    return spec


def _sampled_backward(
    grad_output: TensorSpec, input: TensorSpec, grid: TensorSpec, interpolation_mode: int,
    padding_mode: int, align_corners: bool, output_mask: Any,
) -> tuple[TensorSpec | None, TensorSpec]:  # fmt: skip
    own = plain_spec(input, input.shape) if output_mask[0] else None
    return own, plain_spec(grid, grid.shape)


def _vjp(dims: int) -> Any:
    def formula(
        grad: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int,
        align_corners: bool, needed: Any,
    ) -> Any:  # fmt: skip
        operator = getattr(t, f"grid_sampler_{dims}d_backward")
        return operator(
            grad, input, grid, interpolation_mode, padding_mode, align_corners, needed
        )

    return formula


def _backward_vjp(dims: int) -> Any:
    """The first gradient is linear in the pictures' part, the rest is an operator of its own."""

    def formula(
        grads: Any, grad_output: Any, input: Any, grid: Any, interpolation_mode: int,
        padding_mode: int, align_corners: bool,
    ) -> Any:  # fmt: skip
        to_input, to_grid = grads
        options = (interpolation_mode, padding_mode, align_corners)
        results: list[Any] = [None, None, None]
        if to_grid is not None:
            results = list(
                t._grid_sampler_double_backward(to_grid, grad_output, input, grid, *options)
            )
        if to_input is not None:
            sample = getattr(t, f"grid_sampler_{dims}d")
            backward = getattr(t, f"grid_sampler_{dims}d_backward")
            moved = backward(grad_output, to_input, grid, *options, (False, True))[1]
            found = sample(to_input, grid, *options), None, moved
            results = [_plus(one, other) for one, other in zip(results, found)]
        return results

    return formula


def _plus(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return one + other


def _declare_sampler(dims: int) -> None:
    declare(
        f"grid_sampler_{dims}d(Tensor input, Tensor grid, {_OPTIONS}) -> Tensor",
        doc="Pictures sampled at the places of a grid.",
        spec=_sampled(dims),
        vjp={("input", "grid"): _vjp(dims)},
        variants="function",
        autocast="float32",
    )
    declare(
        f"grid_sampler_{dims}d_backward(Tensor grad_output, Tensor input, Tensor grid, {_OPTIONS}, "
        "bool[2] output_mask) -> (Tensor, Tensor)",
        doc=f"The gradients of `grid_sampler_{dims}d` for pictures and grid.",
        spec=_sampled_backward,
        vjp={("grad_output", "input", "grid"): _backward_vjp(dims)},
        variants="",
    )


def _double_backward(
    grad_grid: TensorSpec, grad_output: TensorSpec, input: TensorSpec, grid: TensorSpec,
    *options: Any,
) -> tuple[TensorSpec, ...]:  # fmt: skip
    return tuple([plain_spec(each, each.shape) for each in (grad_output, input, grid)])


declare(
    "_grid_sampler_double_backward(Tensor grad_grid, Tensor grad_output, Tensor input, "
    f"Tensor grid, {_OPTIONS}) -> (Tensor, Tensor, Tensor)",
    doc="The gradients of a grid's gradient for what it was computed from.",
    spec=_double_backward,
    vjp=MissingGradient("grid sampling has two derivatives, as in PyTorch"),
    variants="",
)
for _dims in (2, 3):
    _declare_sampler(_dims)


@composite(
    f"grid_sampler(Tensor input, Tensor grid, {_OPTIONS}) -> Tensor",
    variants="function",
    autocast="float32",
)
def grid_sampler(
    input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    """Pictures or volumes sampled at the places of a grid."""
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise Mismatch(
            "expected 4D or 5D input and grid with same number of dimensions, but got input with "
            f"sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    sample = t.grid_sampler_2d if input.ndim == 4 else t.grid_sampler_3d
    return sample(input, grid, interpolation_mode, padding_mode, align_corners)


def _coordinates(theta: Any, count: int, align_corners: bool) -> Any:
    """From -1 to 1 in `count` steps: the elements' centres, or from edge to edge."""
    options = {"dtype": theta.dtype, "device": theta.device}
    if count <= 1:
        return t.zeros((count,), **options)
    line = t.linspace(-1, 1, count, **options)
    return line if align_corners else line * (count - 1) / count


@composite(
    "affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
    variants="function",
)
def affine_grid_generator(theta: Any, size: Any, align_corners: bool) -> Any:
    """The grid that samples a picture of `size` through each affine map of a batch."""
    if len(size) not in (4, 5):
        raise Mismatch(f"AffineGridGenerator needs 4d or 5d size, got {list(size)}")
    batch, spatial = size[0], tuple(size[2:])
    dims = len(spatial)
    options = {"dtype": theta.dtype, "device": theta.device}
    parts = []
    for d in reversed(range(dims)):  # x, the last dimension, comes first
        shape = [1] * dims
        shape[d] = spatial[d]
        line = _coordinates(theta, spatial[d], align_corners)
        parts.append(line.reshape(shape).expand(spatial))
    base = t.stack([*parts, t.ones(spatial, **options)], -1)
    count = 1
    for each in spatial:
        count *= each
    points = base.reshape(1, count, dims + 1).expand(batch, count, dims + 1)
    return t.bmm(points, theta.transpose(1, 2)).reshape(batch, *spatial, dims)
