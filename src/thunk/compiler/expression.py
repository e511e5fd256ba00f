"""Enters: what one element of a result is made of. Leaves: `Expression`, a typed, shared term.

Invariant: equal terms are one object within an `Expressions`; element types are those that are
computed in: half precision is loaded as float32 and rounded by `round`.
"""

from __future__ import annotations

from typing import Any

from thunk.compiler.access import Access
from thunk.types import dtype as d
from thunk.types.dtype import dtype

COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
BINARY = frozenset(
    {
        "add", "sub", "mul", "div", "maximum", "minimum", "and", "or", "xor", "shl", "shr",
        "copysign", "quotient", "rest",
    }
)  # fmt: skip
UNARY = frozenset({"neg", "abs", "not", "sqrt", "floor", "ceil", "trunc", "rint"})
READING = frozenset({"load", "lookup", "guarded"})


class Unsupported(Exception):
    """The operands are such that the lowering does not apply."""


def working(element: dtype) -> dtype:
    """The type that values of `element` are computed in."""
    half = element.is_floating_point and element.itemsize < 4
    return d.float32 if half else element


class Expression:
    """One term. `attribute` is the constant, number, access, function or type that `op` needs."""

    __slots__ = ("args", "attribute", "cost", "dtype", "maker", "op", "reads")

    cost: int

    def __init__(
        self, maker: Expressions, op: str, element: dtype, args: tuple[Expression, ...],
        attribute: Any,
    ) -> None:  # fmt: skip
        self.maker = maker
        self.op = op
        self.dtype = element
        self.args = args
        self.attribute = attribute
        self.reads: frozenset[Access] = frozenset().union(*[each.reads for each in args])
        if op in READING:
            self.reads |= {attribute}
        self.cost = sum(each.cost for each in args) + _COSTS.get(op, 1)

    def _binary(self, op: str, other: Any, reflected: bool = False) -> Expression:
        right = self.maker.lift(other, self.dtype)
        if right.dtype is not self.dtype:
            raise Unsupported(f"{op} of {self.dtype} and {right.dtype}")
        pair = (right, self) if reflected else (self, right)
        element = d.bool_ if op in COMPARISONS else self.dtype
        return self.maker.make(op, element, pair)

    def __add__(self, other: Any) -> Expression:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Expression:
        return self._binary("add", other, True)

    def __sub__(self, other: Any) -> Expression:
        return self._binary("sub", other)

    def __rsub__(self, other: Any) -> Expression:
        return self._binary("sub", other, True)

    def __mul__(self, other: Any) -> Expression:
        return self._binary("mul", other)

    def __rmul__(self, other: Any) -> Expression:
        return self._binary("mul", other, True)

    def __truediv__(self, other: Any) -> Expression:
        return self._binary("div", other)

    def __rtruediv__(self, other: Any) -> Expression:
        return self._binary("div", other, True)

    def __and__(self, other: Any) -> Expression:
        return self._binary("and", other)

    def __or__(self, other: Any) -> Expression:
        return self._binary("or", other)

    def __xor__(self, other: Any) -> Expression:
        return self._binary("xor", other)

    def __lt__(self, other: Any) -> Expression:
        return self._binary("lt", other)

    def __le__(self, other: Any) -> Expression:
        return self._binary("le", other)

    def __gt__(self, other: Any) -> Expression:
        return self._binary("gt", other)

    def __ge__(self, other: Any) -> Expression:
        return self._binary("ge", other)

    def eq(self, other: Any) -> Expression:
        return self._binary("eq", other)

    def ne(self, other: Any) -> Expression:
        return self._binary("ne", other)

    def maximum(self, other: Any) -> Expression:
        return self._binary("maximum", other)

    def minimum(self, other: Any) -> Expression:
        return self._binary("minimum", other)

    def copysign(self, other: Any) -> Expression:
        return self._binary("copysign", other)

    def binary(self, op: str, other: Any) -> Expression:
        """Any other operation of two terms, by name."""
        return self._binary(op, other)

    def __neg__(self) -> Expression:
        return self.unary("neg")

    def __invert__(self) -> Expression:
        return self.unary("not")

    def unary(self, op: str) -> Expression:
        """An operation of one term, by name."""
        return self.maker.make(op, self.dtype, (self,))

    def math(self, name: str, *others: Any) -> Expression:
        """A function of vector mathematics, by name."""
        args = (self, *[self.maker.lift(each, self.dtype) for each in others])
        return self.maker.make("math", self.dtype, args, name)

    def where(self, yes: Any, no: Any) -> Expression:
        """`yes` where this bool term holds, else `no`; one of them must be a term."""
        element = (yes if isinstance(yes, Expression) else no).dtype
        pair = (self.maker.lift(yes, element), self.maker.lift(no, element))
        return self.maker.make("select", element, (self, *pair))

    def to(self, element: dtype) -> Expression:
        """The value converted as PyTorch converts it, rounded if `element` is half precision."""
        wide = working(element)
        if self.dtype is wide:
            value = self
        elif wide is d.bool_:
            value = self.ne(0)
        else:
            value = self.maker.make("cast", wide, (self,))
        return value if wide is element else value.round(element)

    def round(self, element: dtype) -> Expression:
        """A float32 term rounded to what `element` can hold."""
        if self.op == "round" and self.attribute is element:
            return self
        if self.op == "load" and self.attribute.element is element:
            return self
        return self.maker.make("round", d.float32, (self,), element)

    def bits(self, element: dtype) -> Expression:
        """The same bits read as another type of the same size."""
        return self.maker.make("bits", element, (self,))

    def __repr__(self) -> str:
        return spell(self)


_COSTS = {"math": 20, "div": 6, "sqrt": 6, "const": 0, "number": 0, "lookup": 4, "cast": 1,
          "quotient": 40, "rest": 40}  # fmt: skip


class Expressions:
    """Makes terms; equal terms are made once."""

    def __init__(self) -> None:
        self._known: dict[Any, Expression] = {}

    def make(
        self, op: str, element: dtype, args: tuple[Expression, ...] = (), attribute: Any = None
    ) -> Expression:
        key = (op, element, tuple([id(each) for each in args]), attribute)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Expression(self, op, element, args, attribute)
        return found

    def constant(self, value: Any, element: dtype) -> Expression:
        """A Python number as a term of `element`."""
        wide = working(element)
        if wide is d.bool_:
            value = bool(value)
        elif wide.is_floating_point:
            value = float(value)
        else:
            value = int(value)
        # Zeros of both signs, and NaN, are told apart by their spelling.
        return self.make("const", wide, (), (value if value == value else "nan", repr(value)))

    def number(self, index: int, kind: type, element: dtype) -> Expression:
        """Runtime number `index`, given as a Python `kind`."""
        own = {bool: d.bool_, int: d.int64, float: d.float64}[kind]
        found = self.make("number", own, (), index)
        return found.to(working(element))

    def load(self, access: Access) -> Expression:
        return self.make("load", working(access.element), (), access)

    def lookup(self, access: Access, place: Expression) -> Expression:
        """The element `place` elements after where `access` points."""
        return self.make("lookup", working(access.element), (place,), access)

    def guarded(self, access: Access, holds: Expression, other: Expression) -> Expression:
        """What `access` points to where `holds`, else `other`; no memory is touched there."""
        return self.make("guarded", working(access.element), (holds, other), access)

    def check(self, holds: Expression, value: Expression, code: int) -> Expression:
        """`value`; the program's status becomes `code` if `holds` is false anywhere."""
        return self.make("check", value.dtype, (holds, value), code)

    def place(self, strides: tuple[int, ...], offset: int = 0) -> Expression:
        """An affine function of the loop dimensions, as an int64 term."""
        return self.make("place", d.int64, (), (strides, offset))

    def lift(self, value: Any, element: dtype) -> Expression:
        return value if isinstance(value, Expression) else self.constant(value, element)

    def mapped(
        self, root: Expression, change: dict[Expression, Expression], leaf: Any
    ) -> Expression:
        """`root` with `leaf(term)` for each term that reads or counts; memoised in `change`."""
        stack = [root]
        while stack:
            term = stack[-1]
            if term in change:
                stack.pop()
                continue
            missing = [each for each in term.args if each not in change]
            if missing:
                stack += missing
                continue
            stack.pop()
            args = tuple([change[each] for each in term.args])
            attribute = term.attribute
            if term.op in READING or term.op == "place":
                attribute = leaf(term)
            change[term] = self.make(term.op, term.dtype, args, attribute)
        return change[root]


def constant_value(attribute: tuple[Any, str]) -> Any:
    """The number that a `const` term's attribute stands for."""
    value = attribute[0]
    return float("nan") if value == "nan" else value


def spell(root: Expression, names: Any = None) -> str:
    """A term as text; shared parts are spelled out where they occur."""
    if root.op == "const":
        return str(root.attribute[1])
    if root.op == "number":
        return f"s{root.attribute}"
    if root.op == "load":
        return str(root.attribute if names is None else names(root.attribute))
    if root.op == "place":
        return f"place{root.attribute[0]}+{root.attribute[1]}"
    args = ", ".join(spell(each, names) for each in root.args)
    name = str(root.attribute) if root.op == "math" else root.op
    extra = ""
    if root.op in ("cast", "bits", "round"):
        extra = f" {(root.attribute or root.dtype).name}"
    elif root.op in ("lookup", "guarded"):
        extra = f" {root.attribute if names is None else names(root.attribute)}"
    return f"{name}{extra}({args})"
