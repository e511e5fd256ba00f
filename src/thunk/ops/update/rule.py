"""Enters: one optimizer's formula for one parameter. Leaves: its operators, one a set of states.

Invariant: the formula is the only statement of the arithmetic: gradients and backends without a
rule of their own take it with tensors, the reference backend with arrays.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from thunk.base.errors import expected
from thunk.dispatch.call import call
from thunk.ir.opdef import NoGradient, OpDef
from thunk.ops.declare import declare
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import pointwise_spec
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase

Formula = Callable[..., tuple[Any, ...]]

REASON = (
    "an optimizer step writes into its parameters without history; pass differentiable=True to "
    "the optimizer to record it"
)

formulas: dict[OpDef, Callable[..., tuple[Any, ...]]] = {}


class UpdateRule:
    """How one optimizer changes a parameter and what it remembers of it.

    `formula(m, param=, grad=, <states>=, <numbers>=)` returns the new parameter and states. `m`
    has the functions it needs besides arithmetic: `t` for tensors, NumPy's for arrays. States in
    `optional` may be absent: each set of them is an overload of the operator. `numbers` is the
    schema of the rest. A formula never branches on a number's value, only on whether it is None:
    numbers are inputs of a compiled step, so none of their values costs a compile.
    """

    def __init__(
        self,
        name: str,
        formula: Formula,
        *,
        doc: str,
        states: str = "",
        optional: str = "",
        numbers: str,
    ) -> None:
        self.formula = formula
        self.optional = tuple(optional.split())
        self._overloads: dict[tuple[str, ...], tuple[OpDef, tuple[str, ...], tuple[str, ...]]] = {}
        for count in range(len(self.optional) + 1):
            for extra in itertools.combinations(self.optional, count):
                held = (*states.split(), *extra)
                op = _declare(name, formula, doc, held, extra, numbers)
                names = _argument_names(op)
                self._overloads[extra] = (op, names, names[len(held) + 2 :])

    def __call__(self, recorded: bool, **operands: Any) -> tuple[Any, ...]:
        """The new parameter and the new states, in the order of the schema.

        With `recorded`, or where a number is a tensor, the formula runs operator by operator, so
        that gradients flow through it and no tensor has to become a number.
        """
        held = tuple([name for name in self.optional if operands.get(name) is not None])
        op, names, scalars = self._overloads[held]
        if recorded or any(isinstance(operands[name], TensorBase) for name in scalars):
            return self.formula(t, **operands)
        result = call(op, tuple([operands[name] for name in names]))
        return result if isinstance(result, tuple) else (result,)


def _argument_names(op: OpDef) -> tuple[str, ...]:
    return tuple([each.name for each in op.schema.arguments])


def _declare(
    name: str, formula: Formula, doc: str, held: Sequence[str], extra: Sequence[str], numbers: str
) -> OpDef:
    operands = ", ".join(f"Tensor {each}" for each in ("param", "grad", *held))
    results = ", ".join(f"Tensor {each}" for each in ("param", *held))
    overload = f".{'_'.join(extra)}" if extra else ""
    made = f"({results})" if held else "Tensor"

    def decompose(*args: Any) -> Any:
        found = formula(t, **dict(zip(names, args, strict=True)))
        cast = [new.to(old.dtype) for new, old in zip(found, (args[0], *args[2:]), strict=False)]
        return tuple(cast) if held else cast[0]

    op = declare(
        f"_{name}_update{overload}({operands}, *, {numbers}) -> {made}",
        doc=doc,
        spec=_specs,
        vjp=NoGradient(REASON),
        decompose=decompose,
        variants="",
    )
    names = _argument_names(op)
    formulas[op] = formula
    return op


def _specs(param: TensorSpec, grad: TensorSpec, *rest: Any) -> Any:
    """Results are laid out like what they replace."""
    held = [each for each in rest if isinstance(each, TensorSpec)]
    if not param.dtype.is_floating_point:
        raise expected(
            "a parameter of a floating point dtype", repr(param.dtype), "pass view_as_real of it"
        )
    for each in (grad, *held):
        if each.shape != param.shape:
            raise expected(f"a gradient and states of shape {param.shape}", str(each.shape))
    found = tuple([pointwise_spec((each,)) for each in (param, *held)])
    return found if held else found[0]
