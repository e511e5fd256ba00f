"""Logic on truth values, on bits, and shifts of integers."""

from __future__ import annotations

from thunk.ir.opdef import NoGradient
from thunk.ops.declare import alias, declare
from thunk.ops.pointwise.forms import EVERY_FORM, binary, mixed, unary
from thunk.ops.rules.pointwise import (
    DtypeRule,
    always_bool,
    first_dtype,
    promoted,
    refusing,
)

_BOOLEAN = NoGradient("the result is boolean")
_INTEGRAL = NoGradient("the result is integral")

binary("logical_and", "Where both are not zero.", _BOOLEAN, rule=always_bool)
binary("logical_or", "Where one is not zero.", _BOOLEAN, rule=always_bool)
binary("logical_xor", "Where exactly one is not zero.", _BOOLEAN, rule=always_bool)
unary("logical_not", "Where elements are zero.", _BOOLEAN, rule=always_bool)

_bits = refusing(promoted, "floating complex")
_whole = refusing(promoted, "bool floating complex")


def _bitwise(name: str, doc: str, rule: DtypeRule, operator: str) -> None:
    declare(
        f"{name}.Tensor(Tensor self, Tensor other) -> Tensor",
        doc=doc,
        spec=mixed(rule),
        vjp=_INTEGRAL,
        variants=EVERY_FORM,
        numbers="self other",
    )
    alias(operator, name, variants="function")


_bitwise("bitwise_and", "The bits that both have.", _bits, "__and__")
_bitwise("bitwise_or", "The bits that one has.", _bits, "__or__")
_bitwise("bitwise_xor", "The bits that exactly one has.", _bits, "__xor__")
_bitwise("bitwise_left_shift", "`self * 2 ** other` without the lost bits.", _whole, "__lshift__")
_bitwise("bitwise_right_shift", "`self // 2 ** other`, the sign kept.", _whole, "__rshift__")
unary(
    "bitwise_not", "Every bit turned.", _INTEGRAL,
    rule=refusing(first_dtype, "floating complex"),
)  # fmt: skip

_common = refusing(promoted, "bool floating complex")
binary("gcd", "The greatest common divisor.", _INTEGRAL, rule=_common)
binary("lcm", "The least common multiple.", _INTEGRAL, rule=_common)
