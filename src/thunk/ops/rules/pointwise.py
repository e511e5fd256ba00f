"""Enters: operand specs and numbers. Leaves: the spec of an elementwise result.

Invariant: shapes broadcast, dtypes promote and strides follow the operands as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.rules.dims import broadcast_shapes
from thunk.ops.rules.strides import elementwise_strides
from thunk.types.device import CPU, device
from thunk.types.dtype import BOOL, COMPLEX, INTEGRAL, bool_, dtype
from thunk.types.promotion import result_type, to_inexact
from thunk.types.spec import TensorSpec

__all__ = [
    "DtypeRule", "always_bool", "broadcast_operands", "elementwise_strides", "first_dtype",
    "floating_only", "pointwise", "pointwise_spec", "promoted", "promoted_to_inexact",
    "promoted_to_real", "refusing", "same_dtype", "where",
]  # fmt: skip

DtypeRule = Callable[[Sequence[Any]], dtype]


def promoted(operands: Sequence[Any]) -> dtype:
    """PyTorch's promotion of all operands."""
    return result_type(operands)


def promoted_to_inexact(operands: Sequence[Any]) -> dtype:
    """As `promoted`, integers and bool become the default dtype."""
    return to_inexact(result_type(operands))


def promoted_to_real(operands: Sequence[Any]) -> dtype:
    """As `promoted`; the result is the size or the angle of a complex number."""
    return result_type(operands).to_real()


def always_bool(operands: Sequence[Any]) -> dtype:
    """Comparisons: check that the operands promote, answer bool."""
    result_type(operands)
    return bool_


def first_dtype(operands: Sequence[Any]) -> dtype:
    """The first operand's own dtype."""
    found: dtype = operands[0].dtype
    return found


def same_dtype(operands: Sequence[Any]) -> dtype:
    """The dtype that all operands must share, for operators that do not promote."""
    found: dtype = operands[0].dtype
    for each in operands:
        if each.dtype is not found:
            raise expected(f"operands of one dtype, {found}", repr(each.dtype), "cast one of them")
    return found


_REFUSED: dict[str, Callable[[dtype], bool]] = {
    "bool": lambda element: element.category == BOOL,
    "integral": lambda element: element.category == INTEGRAL,
    "half": lambda element: element.is_floating_point and element.itemsize < 4,
    "floating": lambda element: element.is_floating_point,
    "complex": lambda element: element.category == COMPLEX,
}


def refusing(
    rule: DtypeRule, refused: str, kind: type[Exception] = NotImplementedError, fix: str = ""
) -> DtypeRule:
    """`rule`, after refusing operands that promote to one of `refused` ("bool integral half
    floating complex")."""
    names = refused.split()
    tests = [_REFUSED[name] for name in names]
    wanted = " or ".join(f"not {name}" for name in names)

    def checked(operands: Sequence[Any]) -> dtype:
        found = result_type(operands)
        if any(test(found) for test in tests):
            raise expected(f"a dtype that is {wanted}", repr(found), fix, kind)
        return rule(operands)

    return checked


def floating_only(name: str) -> DtypeRule:
    """A dtype rule that refuses integers: `name` is what the message calls the argument."""

    def rule(operands: Sequence[Any]) -> dtype:
        found = result_type(operands)
        if not found.is_inexact:
            raise expected(f"{name} of a floating point or complex dtype", repr(found))
        return found

    return rule


def pointwise(rule: DtypeRule = promoted, operands: int = 1) -> Callable[..., TensorSpec]:
    """The shape rule of an operator whose first `operands` arguments are elementwise operands."""

    def spec(*args: Any) -> TensorSpec:
        return pointwise_spec(args[:operands], rule)

    return spec


def pointwise_spec(operands: Sequence[Any], rule: DtypeRule = promoted) -> TensorSpec:
    """The spec of an elementwise result over `operands` (specs or Python numbers)."""
    specs = [each for each in operands if isinstance(each, TensorSpec)]
    shape = broadcast_shapes([each.shape for each in specs])
    strides = elementwise_strides(shape, specs, numbers=len(specs) != len(operands))
    return TensorSpec(shape, rule(operands), strides, 0, where(specs))


def broadcast_operands(operands: Sequence[Any]) -> tuple[int, ...]:
    """The common shape of those operands that are tensors; at least one must be."""
    specs = [each for each in operands if isinstance(each, TensorSpec)]
    if not specs:
        raise Mismatch("expected at least one tensor, got numbers only", TypeError)
    return broadcast_shapes([each.shape for each in specs])


def where(specs: Sequence[TensorSpec]) -> device:
    """The device of a result."""
    for spec in specs:
        if spec.shape or spec.device.type != "cpu":
            return spec.device
    return specs[0].device if specs else CPU
