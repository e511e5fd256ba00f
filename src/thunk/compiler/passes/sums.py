"""Enters: a graph. Leaves: the graph with sums of many products computed as one product.

Gradients of a weight that every step of a recurrence uses are such sums. Joining the operands is
less to move than the products are. Invariant: the same products are added up, in another order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from thunk.compiler.passes.products import is_turn
from thunk.compiler.passes.rewriting import rebuild
from thunk.ir.graph import Graph, Node, Scalar, Value
from thunk.ops.registry import find_op
from thunk.types.dtype import FLOATING

FEWEST = 4  # products that are worth joining


@dataclass(slots=True)
class _Sum:
    """The products below one chain of additions, and what else is added."""

    products: list[tuple[Value, tuple[Any, ...]]] = field(default_factory=list)
    others: list[tuple[Value, tuple[Any, ...]]] = field(default_factory=list)


def join_sums(graph: Graph) -> Graph:
    """One product over joined operands for each sum of several."""
    readers: dict[Value, int] = {}
    for node in graph.nodes:
        for value in node.operands:
            readers[value] = readers.get(value, 0) + 1
    for value in graph.outputs:
        readers[value] = readers.get(value, 0) + 2
    sums = _sums(graph, readers)
    if not sums:
        return graph
    return _rewritten(graph, sums)


def _sums(graph: Graph, readers: dict[Value, int]) -> dict[Node, _Sum]:
    """By the last addition of each chain."""
    inner: set[Node] = set()
    for node in graph.nodes:
        if _is_addition(node):
            for value in node.args[:2]:
                if _is_addition(value.node) and readers[value] == 1 and _alike(value, node):
                    inner.add(value.node)
    found: dict[Node, _Sum] = {}
    for node in graph.nodes:
        if _is_addition(node) and node not in inner:
            each = _collected(node, inner, readers)
            if _is_worth_it(node, each):
                found[node] = each
    return found


def _collected(root: Node, inner: set[Node], readers: dict[Value, int]) -> _Sum:
    found = _Sum()
    stack: list[tuple[Value, tuple[Any, ...]]] = [(root.outputs[0], ())]
    while stack:
        value, factors = stack.pop()
        node = value.node
        if node is root or node in inner:
            assert node is not None
            alpha = node.args[2]
            scaled = factors if _is_one(alpha) else (*factors, alpha)
            stack += [(node.args[1], scaled), (node.args[0], factors)]
        elif _is_product(node) and readers[value] == 1 and _alike(value, root):
            found.products.append((value, factors))
        else:
            found.others.append((value, factors))
    return found


def _is_worth_it(root: Node, found: _Sum) -> bool:
    """Whether the operands are much smaller than the products."""
    if len(found.products) < FEWEST or any(not _alike(each, root) for each, _ in found.others):
        return False
    rows, columns = root.outputs[0].spec.shape
    inner: int = sum(each.node.args[0].spec.shape[1] for each, _ in found.products if each.node)
    return inner * (rows + columns) * 2 <= len(found.products) * rows * columns


def _is_addition(node: Node | None) -> bool:
    return node is not None and node.op.full_name == "aten::add.Tensor" and (
        all(isinstance(each, Value) for each in node.args[:2])
        and node.outputs[0].spec.dtype.category == FLOATING
        and len(node.outputs[0].spec.shape) == 2
    )


def _is_product(node: Node | None) -> bool:
    return node is not None and node.op.full_name == "aten::mm"


def _is_one(alpha: Any) -> bool:
    return not isinstance(alpha, Scalar) and bool(alpha == 1)


def _alike(value: Value, node: Node) -> bool:
    spec, own = value.spec, node.outputs[0].spec
    return spec.shape == own.shape and spec.dtype is own.dtype


def _rewritten(graph: Graph, sums: dict[Node, _Sum]) -> Graph:
    operands: dict[Value, tuple[Value, Value]] = {}
    new: dict[Value, Value] = {}
    turned: dict[Value, Value] = {}
    others = {value for each in sums.values() for value, _ in each.others}
    wanted = {value for each in sums.values() for value, _ in each.products}
    joined = [each for each in graph.nodes if each.op.full_name == "aten::cat"]

    def change(fresh: Graph, node: Node, args: tuple[Any, ...]) -> tuple[Value, ...] | None:
        for old, now in zip(node.args, args, strict=True):
            if isinstance(old, Value) and old in others:
                new[old] = now
        if is_turn(node):
            made = _add(fresh, node, args, node.outputs[0].spec)
            turned[made] = args[0]
            return (made,)
        if node.outputs and node.outputs[0] in wanted:
            operands[node.outputs[0]] = (args[0], args[1])
        if node not in sums:
            return None
        found = sums[node]
        order = _order([value for value, _ in found.products], joined)
        products = sorted(found.products, key=lambda pair: order[pair[0]])
        total = _product(fresh, node, products, operands, turned)
        for value, factors in found.others:
            total = _added(fresh, node, total, _scaled(fresh, node, new[value], factors))
        return (total,)

    return rebuild(graph, change)


def _order(products: list[Value], joined: list[Node]) -> dict[Value, int]:
    """The order in which somebody joins the right operands anyway, or that of the sum."""
    rights = [each.node.args[1] for each in products if each.node is not None]
    for node in joined:
        parts = node.args[0]
        if len(parts) == len(rights) and set(parts) == set(rights) and node.args[1] == 0:
            places = {value: place for place, value in enumerate(parts)}
            return {each: places[right] for each, right in zip(products, rights, strict=True)}
    return {each: place for place, each in enumerate(products)}


def _product(
    fresh: Graph, node: Node, products: list[tuple[Value, tuple[Any, ...]]],
    operands: dict[Value, tuple[Value, Value]], turned: dict[Value, Value],
) -> Value:  # fmt: skip
    lefts = [
        (operands[value][0], factors) for value, factors in products
    ]
    rights = [operands[value][1] for value, _ in products]
    if all(left in turned for left, _ in lefts):
        rows = [_scaled(fresh, node, turned[left], factors) for left, factors in lefts]
        left = _turned(fresh, node, _joined(fresh, node, rows, 0))
    else:
        columns = [_scaled(fresh, node, left, factors) for left, factors in lefts]
        left = _joined(fresh, node, columns, 1)
    right = _joined(fresh, node, rights, 0)
    return _add(fresh, node, (left, right), node.outputs[0].spec.fresh(), "aten::mm")


def _joined(fresh: Graph, node: Node, parts: list[Value], dim: int) -> Value:
    shape = list(parts[0].spec.shape)
    shape[dim] = sum(each.spec.shape[dim] for each in parts)
    spec = parts[0].spec.with_shape(tuple(shape))
    return _add(fresh, node, (tuple(parts), dim), spec, "aten::cat")


def _turned(fresh: Graph, node: Node, value: Value) -> Value:
    spec = value.spec
    window = spec.window(spec.shape[::-1], spec.strides[::-1])
    return _add(fresh, node, (value,), window, "aten::t")


def _scaled(fresh: Graph, node: Node, value: Value, factors: tuple[Any, ...]) -> Value:
    for factor in factors:
        spec = value.spec.with_shape(value.spec.shape)
        value = _add(fresh, node, (value, factor), spec, "aten::mul.Tensor")
    return value


def _added(fresh: Graph, node: Node, left: Value, right: Value) -> Value:
    return _add(fresh, node, (left, right, 1), node.outputs[0].spec, "aten::add.Tensor")


def _add(fresh: Graph, node: Node, args: tuple[Any, ...], spec: Any, name: str = "") -> Value:
    op = find_op(name) if name else node.op
    assert op is not None, name
    return fresh.add(op, args, (spec,), node.where, node.scope).outputs[0]
