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
            domain.store(_without_divisions(term), index)

    return lower


def _without_divisions(root: Expression) -> Expression:
    """Division by a number as multiplication by its reciprocal, which is taken once a run.

    A division takes as long as ten other operations; the result moves by at most one unit in the
    last place of a term that Adam's own rounding moves as far.
    """
    done: dict[Expression, Expression] = {}

    def changed(term: Expression) -> Expression:
        found = done.get(term)
        if found is not None:
            return found
        args = tuple([changed(each) for each in term.args])
        if term.op == "div" and _is_number(term.args[1]):
            one = term.maker.constant(1, term.dtype)
            found = args[0] * term.maker.make("div", term.dtype, (one, args[1]))
        elif args == term.args:
            found = term
        else:
            found = term.maker.make(term.op, term.dtype, args, term.attribute)
        done[term] = found
        return found

    return changed(root)


def _is_number(term: Expression) -> bool:
    """Whether a term is a runtime number or made of numbers alone."""
    if term.op in ("number", "const"):
        return True
    return term.op in ("cast", "sqrt", "mul", "sub", "add") and all(map(_is_number, term.args))


def _operand(domain: Domain, value: Any, element: Any) -> Any:
    """Tensors and numbers as terms; flags and what is absent as they are."""
    if isinstance(value, Value):
        return domain.read(value).to(element)
    if isinstance(value, Scalar):
        return domain.number(value, element)
    return value


for _op, _formula in formulas.items():
    LOWERINGS[_op.full_name] = _lowered(_formula)
