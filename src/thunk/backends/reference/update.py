"""NumPy rules of optimizer steps: the formulas of their declarations, taken with arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.ir.opdef import OpDef
from thunk.ops.update.rule import formulas


class Arrays:
    """The functions that formulas call, on arrays."""

    abs = staticmethod(numpy.abs)
    clone = staticmethod(numpy.copy)
    maximum = staticmethod(numpy.maximum)
    sqrt = staticmethod(numpy.sqrt)
    where = staticmethod(numpy.where)
    zeros_like = staticmethod(numpy.zeros_like)

    @staticmethod
    def clamp(array: Any, low: float, high: float) -> Any:
        return numpy.minimum(numpy.maximum(array, low), high)

    @staticmethod
    def sign(array: Any) -> Any:
        """As PyTorch's: NaN has the sign 0."""
        return numpy.where(array > 0, 1, numpy.where(array < 0, -1, 0)).astype(array.dtype)

    @staticmethod
    def lerp(start: Any, end: Any, weight: float) -> Any:
        way = end - start
        return start + way * weight if abs(weight) < 0.5 else end - way * (1 - weight)


def _with_arrays(op: OpDef, formula: Callable[..., tuple[Any, ...]]) -> Callable[..., Any]:
    names = [each.name for each in op.schema.arguments]

    def update(spec: Any, *args: Any) -> Any:
        found = formula(Arrays, **dict(zip(names, args, strict=True)))
        return found if len(op.schema.returns) > 1 else found[0]

    return update


for _op, _formula in formulas.items():
    rule(_op.full_name.removeprefix("aten::"), half="float32")(_with_arrays(_op, _formula))
