"""Enters: sizes of rows of keys. Leaves: code that finds the order in which each row is sorted.

The function is `int (void **pointers, void *context)` over keys, orders and room for as many
orders. Invariant: equal keys keep their order, and NaN is larger than everything; runs are merged.
"""

from __future__ import annotations

from llvmlite import ir

from thunk.backends.cpu.calls.native import native
from thunk.backends.cpu.llvm.gemm_builder import POINTER, STATUS, WORD, Builder, Value, word
from thunk.backends.cpu.llvm.strided import DOUBLE, SINGLE

KINDS = {"float32": SINGLE, "float64": DOUBLE, "int64": WORD}


def _comes_first(build: Builder, one: Value, other: Value, descending: bool) -> Value:
    """Whether the key `one` must stand before the key `other`."""
    if one.type == WORD:
        return build.ir.icmp_signed(">" if descending else "<", one, other)
    small, large = (other, one) if descending else (one, other)
    less = build.ir.fcmp_ordered("<", small, large)
    absent = build.ir.fcmp_unordered("uno", large, large)
    known = build.ir.fcmp_ordered("ord", small, small)
    return build.ir.or_(less, build.ir.and_(absent, known))


def _merge(
    build: Builder, keys: Value, source: Value, target: Value, run: int, size: int,
    kind: ir.Type, descending: bool,
) -> None:  # fmt: skip
    """Merge neighbouring sorted runs of `run` places."""
    last = word(size - 1)

    def order_at(place: Value) -> Value:
        return build.ir.load(build.at(source, WORD, build.smaller(place, last)), typ=WORD)

    def key_of(order: Value) -> Value:
        return build.ir.load(build.at(keys, kind, order), typ=kind)

    with build.loop(word(0), word(size), 2 * run) as start:
        middle = build.smaller(build.add(start, word(run)), word(size))
        end = build.smaller(build.add(start, word(2 * run)), word(size))
        left, right = build.slot(WORD, start), build.slot(WORD, middle)
        with build.loop(start, end) as place:
            i, j = (build.ir.load(each, typ=WORD) for each in (left, right))
            first, second = order_at(i), order_at(j)
            overtakes = _comes_first(build, key_of(second), key_of(first), descending)
            is_left = build.ir.icmp_signed("<", i, middle)
            is_right = build.ir.icmp_signed("<", j, end)
            takes = build.ir.and_(is_right, overtakes)
            takes = build.ir.or_(takes, build.ir.not_(is_left))
            chosen = build.ir.select(takes, second, first)
            build.ir.store(chosen, build.at(target, WORD, place))
            step = build.ir.zext(takes, WORD)
            build.ir.store(build.add(j, step), right)
            build.ir.store(build.ir.sub(build.add(i, word(1)), step), left)


@native("sort_rows", vectorise=True)
def sort_rows(key: str, rows: int, size: int, descending: bool) -> str:
    """Orders of rows: which of a row's places comes first, second and so on."""
    kind = KINDS[key]
    module = ir.Module("sort_rows")
    build = Builder(module, "sort_rows", (POINTER, POINTER), STATUS, inner=False)
    keys, orders, room = (build.pointer_at(build.arguments[0], word(each)) for each in range(3))
    runs = [1 << power for power in range((size - 1).bit_length())]
    with build.loop(word(0), word(rows)) as row:
        start = build.mul(row, word(size))
        own = build.at(keys, kind, start)
        pair = [build.at(each, WORD, start) for each in (orders, room)]
        if len(runs) % 2:
            pair.reverse()  # the last merge must write the orders
        with build.loop(word(0), word(size)) as place:
            build.ir.store(place, build.at(pair[0], WORD, place))
        for run in runs:
            _merge(build, own, pair[0], pair[1], run, size, kind, descending)
            pair.reverse()
    build.ir.ret(STATUS(0))
    return str(module)
