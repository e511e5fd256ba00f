"""Norms of batches and of groups, and their gradients: rows are channels."""

from __future__ import annotations

from typing import Any

from thunk.backends.cpu.lowering.blocked import Blocked, common_layout, natural
from thunk.backends.cpu.lowering.reduction import count_of
from thunk.backends.cpu.lowering.rows import affine, statistics
from thunk.compiler.expression import Expression, working
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.types.spec import contiguous_strides


def _channel(domain: Domain, value: Any) -> Expression | None:
    """One element a channel in the type that the batch is computed in, or nothing."""
    if value is None:
        return None
    batch = domain.at.node.args[0].spec.dtype
    return domain.read_along(value, (1,)).to(working(batch))


def _over(batch: Value) -> tuple[int, ...]:
    return (0, *range(2, len(batch.spec.shape)))


def _to_channels(domain: Domain, count: int, term: Expression) -> tuple[Domain, Expression]:
    """A term that is the same all along a channel, in loops over channels."""
    channels = domain.at.over((count,))
    moved = domain.terms.mapped(term, {}, lambda each: domain.channel(each.attribute))
    return channels, moved


@lowering("_native_batch_norm_legit_functional")
def batch_norm(
    at: At, input: Value, weight: Any, bias: Any, running_mean: Any, running_var: Any,
    training: bool, momentum: Any, eps: Any,
) -> None:  # fmt: skip
    domain = natural(at, (input,))
    over = domain.loops_of(_over(input))
    value = domain.read(input)
    step = domain.number(eps, value.dtype)
    if training:
        mean, variance, rstd = statistics(domain, value, over, step)
    else:
        mean, variance = _required(domain, running_mean), _required(domain, running_var)
        rstd = 1 / (variance + step).unary("sqrt")
    output = (value - mean) * rstd
    domain.store(affine(output, _channel(domain, weight), _channel(domain, bias)), 0)
    outputs = at.node.outputs
    for index, term in ((1, mean), (2, rstd)):
        spec = outputs[index].spec
        if spec is not None and spec.numel:
            channels, moved = _to_channels(domain, input.spec.shape[1], term)
            channels.store(moved, index)
    count = count_of(domain, over)
    unbiased = variance * (count / (count - 1)) if count > 1 else variance * float("inf")
    for index, running, new in ((3, running_mean, mean), (4, running_var, unbiased)):
        if outputs[index].spec is None or running is None:
            continue
        share = domain.number(momentum, value.dtype)
        old = _required(domain, running)
        moved_term = share * new + (1 - share) * old if training else old
        channels, moved = _to_channels(domain, input.spec.shape[1], moved_term)
        channels.store(moved, index)


def _required(domain: Domain, value: Any) -> Expression:
    found = _channel(domain, value)
    if found is None:
        raise Unsupported("no running statistics")
    return found


@lowering("native_batch_norm_backward")
def batch_norm_backward(
    at: At, grad_out: Value, input: Value, weight: Any, running_mean: Any, running_var: Any,
    save_mean: Any, save_invstd: Any, train: bool, eps: Any, output_mask: Any,
) -> None:  # fmt: skip
    domain = _shared(at, grad_out, input)
    over = domain.loops_of(_over(input))
    grad = domain.read(grad_out)
    if not train and running_mean is not None:
        mean = _required(domain, running_mean)
        variance = _required(domain, running_var) + domain.number(eps, grad.dtype)
        rstd = 1 / variance.unary("sqrt")
    else:
        mean, rstd = _required(domain, save_mean), _required(domain, save_invstd)
    output = (domain.read(input) - mean) * rstd
    count = float(count_of(domain, over))
    product = domain.reduce("add", grad * output, over)
    total = domain.reduce("add", grad, over)
    if output_mask[0]:
        scale = rstd if weight is None else rstd * _required(domain, weight)
        rest = grad
        if train:
            rest = grad - output * (product.again() / count) - total.again() / count
        domain.store(rest * scale, 0)
    for index, row in ((1, product), (2, total)):
        if output_mask[index]:
            channels = at.over((input.spec.shape[1],))
            channels.store(at.lower.load(domain.channel(row.access)), index)


def _shared(at: At, grad_out: Value, input: Value) -> Domain:
    """Loops over the batch in the layout that it and its gradient have in common."""
    layout = common_layout(at, [input, grad_out])
    shape = input.spec.shape
    return at.over(shape) if layout is None else Blocked(at, shape, layout)


def _groups(at: At, input: Value, sizes: tuple[int, ...]) -> tuple[Domain, Any]:
    """Loops over (sample, group, channel of the group, place), and how to read tensors in them."""
    domain = at.over(sizes)
    strides = contiguous_strides(sizes)

    def read(value: Value) -> Expression:
        if not value.spec.is_contiguous():
            raise Unsupported("groups that are not contiguous")
        return domain.read_as(value, strides)

    return domain, read


def _by_channel(domain: Domain, value: Value, channels: int) -> Expression:
    """One element a channel, in loops over samples, groups, a group's channels and places."""
    step = value.spec.strides[0]
    return domain.read_as(value, (0, channels * step, step, 0))


@lowering("native_group_norm")
def group_norm(
    at: At, input: Value, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: Any
) -> None:
    domain, read = _groups(at, input, (N, group, C // group, HxW))
    value = read(input)
    over = (2, 3)
    mean, _, rstd = statistics(domain, value, over, domain.number(eps, value.dtype))
    output = (value - mean) * rstd
    scale = None if weight is None else _by_channel(domain, weight, C // group)
    shift = None if bias is None else _by_channel(domain, bias, C // group)
    domain.store_as(affine(output, scale, shift), contiguous_strides(domain.sizes), 0)
    for index, term in ((1, mean), (2, rstd)):
        rows = at.over((N, group))
        moved = at.terms.mapped(
            term, {}, lambda each: each.attribute.over(each.attribute.strides[:2])
        )
        rows.store(moved, index)


@lowering("native_group_norm_backward")
def group_norm_backward(
    at: At, grad_out: Value, input: Value, mean: Value, rstd: Value, weight: Any, N: int, C: int,
    HxW: int, group: int, output_mask: Any,
) -> None:  # fmt: skip
    domain, read = _groups(at, input, (N, group, C // group, HxW))
    grad = read(grad_out)
    scale = domain.read_along(rstd, (0, 1))
    output = (read(input) - domain.read_along(mean, (0, 1))) * scale
    over = (2, 3)
    if output_mask[0]:
        count = float(count_of(domain, over))
        weighed = grad
        if weight is not None:
            weighed = grad * _by_channel(domain, weight, C // group)
        along = domain.reduce("add", weighed * output, over).again() / count
        middle = domain.reduce("add", weighed, over).again() / count
        rest = (weighed - output * along - middle) * scale
        domain.store_as(rest, contiguous_strides(domain.sizes), 0)
    for index, term in ((1, grad * output), (2, grad)):
        if output_mask[index]:
            kept, total = domain.reduce("add", term, (0, 3)).kept(False)
            kept.store_as(total, (C // group, 1), index)
