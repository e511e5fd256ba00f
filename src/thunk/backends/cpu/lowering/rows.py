"""Softmax, its logarithm, norms of layers, and their gradients: several walks over a row."""

from __future__ import annotations

from typing import Any

from thunk.backends.cpu.lowering.reduction import count_of
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.types import dtype as d


def _row_loop(at: At, dim: int) -> tuple[Domain, tuple[int, ...]]:
    domain = at.points()
    rank = len(domain.sizes)
    return domain, (dim % rank,) if rank else ()


@lowering("_softmax")
def softmax(at: At, self: Value, dim: int, half_to_float: bool) -> None:
    at.math_known("exp")
    domain, over = _row_loop(at, dim)
    value = domain.read(self)
    largest = domain.reduce("maximum", value, over)
    power = domain.named((value - largest.again()).math("exp"))
    total = domain.reduce("add", power, over)
    domain.store(power / total.again())


@lowering("_log_softmax")
def log_softmax(at: At, self: Value, dim: int, half_to_float: bool) -> None:
    at.math_known("exp log")
    domain, over = _row_loop(at, dim)
    value = domain.read(self)
    shifted = value - domain.reduce("maximum", value, over).again()
    total = domain.reduce("add", shifted.math("exp"), over)
    domain.store(shifted - total.again().math("log"))


@lowering("_softmax_backward_data")
def softmax_backward(
    at: At, grad_output: Value, output: Value, dim: int, input_dtype: Any
) -> None:
    domain, over = _row_loop(at, dim)
    weighed = domain.read(grad_output) * domain.read(output)
    total = domain.reduce("add", weighed, over).again()
    domain.store(weighed - domain.read(output) * total)


@lowering("_log_softmax_backward_data")
def log_softmax_backward(
    at: At, grad_output: Value, output: Value, dim: int, input_dtype: Any
) -> None:
    at.math_known("exp")
    domain, over = _row_loop(at, dim)
    grad = domain.read(grad_output)
    total = domain.reduce("add", grad, over).again()
    domain.store(grad - domain.read(output).math("exp") * total)


def statistics(
    domain: Domain, value: Expression, over: tuple[int, ...], eps: Expression
) -> tuple[Expression, Expression, Expression]:
    """Mean, variance and reciprocal deviation of rows, as terms in their loops."""
    count = float(count_of(domain, over))
    mean = domain.reduce("add", value, over).again() / count
    centred = value - mean
    variance = domain.reduce("add", centred * centred, over).again() / count
    return mean, variance, 1 / (variance + eps).unary("sqrt")


def _optional(domain: Domain, value: Any) -> Expression | None:
    return None if value is None else domain.read(value)


def affine(value: Expression, weight: Expression | None, bias: Expression | None) -> Expression:
    """Scaled and shifted by whatever there is."""
    if weight is not None:
        value = value * weight
    return value if bias is None else value + bias


def _store_row(domain: Domain, term: Expression, index: int, over: tuple[int, ...]) -> None:
    """Store a term that is the same all along a row as result `index`."""
    spec = domain.at.node.outputs[index].spec
    rank = len(domain.sizes)
    if len(spec.shape) != rank:
        raise Unsupported("a row of another rank")
    row = domain.at.over(spec.shape)

    def leaf(each: Expression) -> Any:
        access = each.attribute
        strides = [0 if loop in over else access.strides[loop] for loop in range(rank)]
        return access.over(tuple(strides))

    row.store(domain.terms.mapped(term, {}, leaf), index)


@lowering("native_layer_norm")
def layer_norm(
    at: At, input: Value, normalized_shape: Any, weight: Any, bias: Any, eps: Any
) -> None:
    domain = at.points()
    rank = len(domain.sizes)
    over = tuple(range(rank - len(normalized_shape), rank))
    value = domain.read(input)
    mean, _, rstd = statistics(domain, value, over, domain.number(eps, value.dtype))
    output = (value - mean) * rstd
    domain.store(affine(output, _optional(domain, weight), _optional(domain, bias)), 0)
    _store_row(domain, mean, 1, over)
    _store_row(domain, rstd, 2, over)


@lowering("native_layer_norm_backward")
def layer_norm_backward(
    at: At, grad_out: Value, input: Value, normalized_shape: Any, mean: Value, rstd: Value,
    weight: Any, bias: Any, output_mask: Any,
) -> None:  # fmt: skip
    domain = at.over(input.spec.shape)
    rank, inner = len(domain.sizes), len(normalized_shape)
    over = tuple(range(rank - inner, rank))
    grad, scale = domain.read(grad_out), domain.read(rstd)
    output = (domain.read(input) - domain.read(mean)) * scale
    if output_mask[0]:
        _store_input_gradient(domain, grad, output, scale, over, _optional(domain, weight), True)
    _store_parameter_gradients(domain, grad, output, rank - inner, output_mask[1:])


def _store_input_gradient(
    domain: Domain, grad: Expression, output: Expression, scale: Expression,
    over: tuple[int, ...], weight: Expression | None, centred: bool,
) -> None:  # fmt: skip
    weighed = grad if weight is None else grad * weight
    count = float(count_of(domain, over))
    along = domain.reduce("add", weighed * output, over).again() / count
    rest = weighed - output * along
    if centred:
        rest = rest - domain.reduce("add", weighed, over).again() / count
    domain.store(rest * scale, 0)


def _store_parameter_gradients(
    domain: Domain, grad: Expression, output: Expression, outer: int, mask: Any
) -> None:
    rows = tuple(range(outer))
    for index, (wanted, term) in enumerate(zip(mask, (grad * output, grad), strict=False), 1):
        if wanted:
            kept, total = domain.reduce("add", term, rows).kept(False)
            kept.store(total, index)


@lowering("_fused_rms_norm")
def rms_norm(at: At, input: Value, normalized_shape: Any, weight: Any, eps: Any) -> None:
    domain = at.points()
    rank = len(domain.sizes)
    over = tuple(range(rank - len(normalized_shape), rank))
    value = domain.read(input)
    step = _EPSILON[input.spec.dtype] if eps is None else eps
    count = float(count_of(domain, over))
    square = domain.reduce("add", value * value, over).again() / count
    rstd = 1 / (square + domain.number(step, value.dtype)).unary("sqrt")
    domain.store(affine(value * rstd, _optional(domain, weight), None), 0)
    _store_row(domain, rstd, 1, over)


_EPSILON = {d.float32: 2.0**-23, d.float64: 2.0**-52, d.bfloat16: 2.0**-23, d.float16: 2.0**-23}


@lowering("_fused_rms_norm_backward")
def rms_norm_backward(
    at: At, grad_out: Value, input: Value, normalized_shape: Any, rstd: Value, weight: Any,
    output_mask: Any,
) -> None:  # fmt: skip
    domain = at.over(input.spec.shape)
    rank, inner = len(domain.sizes), len(normalized_shape)
    over = tuple(range(rank - inner, rank))
    grad, scale = domain.read(grad_out), domain.read(rstd)
    output = domain.read(input) * scale
    if output_mask[0]:
        _store_input_gradient(domain, grad, output, scale, over, _optional(domain, weight), False)
    _store_parameter_gradients(domain, grad, output, rank - inner, (output_mask[1],))

