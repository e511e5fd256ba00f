"""Updates of parameters by optimizers: every formula taken with terms, one kernel a parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.compiler.expression import Expression
from thunk.compiler.lowering import LOWERINGS, At, Domain
from thunk.ir.graph import Scalar, Value
from thunk.ops.update.rule import formulas


class Terms:
    """What formulas ask for besides arithmetic."""

    sqrt = staticmethod(lambda value: value.unary("sqrt"))
    abs = staticmethod(lambda value: value.unary("abs"))
    clone = staticmethod(lambda value: value)
    zeros_like = staticmethod(lambda value: value.maker.constant(0, value.dtype))

    @staticmethod
    def maximum(left: Expression, right: Any) -> Expression:
        return left.maximum(right)

    @staticmethod
    def sign(value: Expression) -> Expression:
        return (value > 0).to(value.dtype) - (value < 0).to(value.dtype)

    @staticmethod
    def where(condition: Expression, yes: Any, no: Any) -> Expression:
        return condition.where(yes, no)

    @staticmethod
    def clamp(value: Expression, low: Any = None, high: Any = None) -> Expression:
        value = value if low is None else value.maximum(low)
        return value if high is None else value.minimum(high)

    @staticmethod
    def lerp(start: Expression, stop: Expression, share: Any) -> Expression:
        way = stop - start
        near = _magnitude(start, share) < 0.5
        return near.where(start + share * way, stop - way * (1 - share))


def _magnitude(like: Expression, share: Any) -> Expression:
    return like.maker.lift(share, like.dtype).unary("abs")


def _lowered(formula: Callable[..., tuple[Any, ...]]) -> Callable[..., None]:
    def lower(at: At, *args: Any) -> None:
        domain = at.points()
        element = at.result.dtype
        names = [each.name for each in at.node.op.schema.arguments]
        operands = {
            name: _operand(domain, value, element)
            for name, value in zip(names, args, strict=True)
        }
        for index, term in enumerate(formula(Terms, **operands)[: len(at.node.outputs)]):
            domain.store(term, index)

    return lower


def _operand(domain: Domain, value: Any, element: Any) -> Any:
    """Tensors and numbers as terms; flags and what is absent as they are."""
    if isinstance(value, Value):
        return domain.read(value).to(element)
    if isinstance(value, Scalar):
        return domain.number(value, element)
    return value


for _op, _formula in formulas.items():
    LOWERINGS[_op.full_name] = _lowered(_formula)
