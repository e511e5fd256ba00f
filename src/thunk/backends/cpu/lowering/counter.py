"""Random numbers of a counter: each element from its place, the seed and the offset."""

from __future__ import annotations

from typing import Any

from thunk.backends.cpu.lowering.pointwise import Operands, pointwise
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.types import dtype as d
from thunk.types.spec import contiguous_strides


class _Stream:
    """The words of one operator, as terms of 64 bits."""

    def __init__(self, at: At, domain: Domain, seed: Any, offset: Any) -> None:
        at.math_known("philox_word box_muller")
        self.domain = domain
        self.place = domain.terms.place(contiguous_strides(domain.sizes))
        self.stream = [domain.number(each, d.int64) for each in (seed, offset)]

    def word(self, place: Expression) -> Expression:
        return place.math("philox_word", *self.stream)

    def drawn(self, p: Expression) -> Expression:
        """True with a probability in float64."""
        limit = (p * 2.0**32).unary("ceil").to(d.int64)
        return self.word(self.place) < limit

    def whole(self, place: Expression, element: d.dtype) -> tuple[Expression, float]:
        """A random whole number as a float64, and by what its values are apart."""
        if element.itemsize < 8:
            return self.word(place).to(d.float64), 2.0**-32
        high, low = self.word(place + place + 1), self.word(place + place)
        whole = high.binary("shl", 21).binary("or", low.binary("shr", 11))
        return whole.to(d.float64), 2.0**-53

    def uniform(self, element: d.dtype) -> Expression:
        if element.itemsize < 8:
            word = self.word(self.place).binary("shr", 8).to(d.int32)
            return word.to(d.float32) * 2.0**-24
        whole, step = self.whole(self.place, element)
        return whole * step

    def normal(self, element: d.dtype) -> Expression:
        odd = self.place.binary("and", 1)
        first = self.place - odd
        size, step = self.whole(first, element)
        turn, _ = self.whole(first + 1, element)
        value = ((size + 1.0) * step).math("box_muller", turn * step, odd.to(d.float64))
        return value.to(d.float32) if element.itemsize < 8 else value


def _stream(at: At, seed: Any, offset: Any) -> tuple[Domain, _Stream]:
    domain = at.points()
    return domain, _Stream(at, domain, seed, offset)


@lowering("_counter_bernoulli")
def counter_bernoulli(at: At, self: Value, p: Any, seed: Any, offset: Any) -> None:
    domain, stream = _stream(at, seed, offset)
    domain.store(stream.drawn(domain.number(p, d.float64)))


@lowering("_counter_uniform")
def counter_uniform(at: At, self: Value, seed: Any, offset: Any) -> None:
    domain, stream = _stream(at, seed, offset)
    domain.store(stream.uniform(at.result.dtype))


@lowering("_counter_normal")
def counter_normal(at: At, self: Value, seed: Any, offset: Any) -> None:
    domain, stream = _stream(at, seed, offset)
    domain.store(stream.normal(at.result.dtype))


@lowering("_counter_dropout")
def counter_dropout(at: At, input: Value, p: Any, seed: Any, offset: Any) -> None:
    if at.node.outputs[1].spec.shape != at.result.shape:
        raise Unsupported("a mask of another shape")
    domain, stream = _stream(at, seed, offset)
    kept = 1 - domain.number(p, d.float64)
    mask = domain.named(stream.drawn(kept))
    value = domain.read(input)
    scale = kept.eq(0).where(0, 1 / kept).to(value.dtype)
    domain.store(mask.where(value * scale, value * 0), 0)
    domain.store(mask, 1)


@pointwise("native_dropout_backward")
def dropout_backward(to: Operands, grad_output: Any, mask: Any, scale: Any) -> Expression:
    value = to(grad_output)
    return value * (to(mask, value.dtype) * to.scalar(scale))
