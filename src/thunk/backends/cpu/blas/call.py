"""Enters: any spec in plain layouts. Leaves: calls of own kernels, made of steps.

Operands that the kernels cannot take as they lie are copied into scratch memory first: other
strides, bfloat16 and float16. Free layouts become row-major.
Invariant: post-ops apply in their order, in float32 at least, and results are rounded once.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

from thunk.backends.cpu.blas.convolution import ColumnConvolution
from thunk.backends.cpu.blas.product import Product, is_direct
from thunk.backends.cpu.blas.steps import BoundSteps, Place, Step
from thunk.backends.cpu.blas.sums import channel_sums
from thunk.backends.cpu.calls.call import (
    SCRATCHPAD,
    BoundCall,
    LibraryCall,
    Operand,
    Words,
    in_order,
)
from thunk.backends.cpu.calls.layout import Layout, plain
from thunk.backends.cpu.calls.specs import (
    Accumulate,
    AddOperand,
    CallSpec,
    Convolution,
    Matmul,
    PostOp,
    Relu,
    Reorder,
)
from thunk.backends.cpu.llvm.strided import Operation, strided_function
from thunk.base.errors import expected
from thunk.types.dtype import dtype, float32, float64


def fixed(spec: CallSpec) -> CallSpec:
    """The spec with its free layouts row-major; raises if a layout is not plain."""
    names = {Matmul: "left right out", Convolution: "image weight result"}
    changes: dict[str, Any] = {}
    for name in names.get(type(spec), "source result").split():
        layout: Layout = getattr(spec, name)
        if layout.blocks or layout.has_padding:
            raise expected("plain layouts", layout, "reorder it with oneDNN").named("library call")
        if layout.is_free:
            changes[name] = plain(layout.shape, layout.dtype)
    return replace(spec, **changes) if changes else spec


def computed_in(*layouts: Layout | None) -> dtype:
    """The element type of the arithmetic."""
    names = {each.dtype for each in layouts if each is not None}
    return float64 if float64 in names else float32


class OwnCall(LibraryCall):
    """A call made of own kernels."""

    spec: CallSpec

    def __init__(self, spec: CallSpec) -> None:
        self.spec = spec = fixed(spec)
        self.threads = 1
        self._scratch = 0
        self._planned: list[tuple[LibraryCall | int, tuple[str | int, ...]]] = []
        self._layouts: dict[str, Layout] = {}
        self._written: dict[str, Any] = {}
        if isinstance(spec, Matmul):
            self._matmul(spec)
        elif isinstance(spec, Convolution):
            self._convolution(spec)
        else:
            self._named({"source": spec.source}, {"result": spec.result})
            self._strided(Operation.COPY, "result", spec.result, "source", spec.source)
        accessed = [
            Operand(name, layout, self._written.get(name, "read"))
            for name, layout in self._layouts.items()
        ]
        self.operands = in_order(accessed, self._scratch)
        kernels = [call.implementation for call, _ in self._planned if not isinstance(call, int)]
        self.implementation = ", ".join(kernels) or "own copy"

    def _named(self, read: dict[str, Layout], written: dict[str, Layout]) -> None:
        """Declare the operands."""
        self._layouts |= read | written
        post = () if isinstance(self.spec, Reorder) else self.spec.post
        updated = any(isinstance(each, Accumulate) for each in post)
        self._written |= dict.fromkeys(written, "update" if updated else "write")
        added = [each.layout for each in post if isinstance(each, AddOperand)]
        self._layouts |= {f"added{at}": layout for at, layout in enumerate(added)}

    def _room(self, nbytes: int) -> int:
        """Scratch memory, as an offset in the scratchpad."""
        start = self._scratch
        self._scratch += -(-nbytes // 64) * 64
        return start

    def _strided(
        self, operation: Operation, target: str | int, to: Layout, source: str | int, start: Layout
    ) -> None:
        function = strided_function(operation, to, start)
        self._planned.append((function, (target, source)))

    def _dense(self, name: str, layout: Layout, element: dtype) -> tuple[str | int, Layout]:
        """An operand as it is, or its row-major copy of another element type."""
        wanted = plain(layout.shape, element)
        if layout == wanted:
            return name, layout
        place = self._room(wanted.nbytes)
        self._strided(Operation.COPY, place, wanted, name, layout)
        return place, wanted

    def _kernel(self, call: LibraryCall, places: dict[str, str | int]) -> None:
        """Run a kernel on these places, by the names of its own operands."""
        if call.scratchpad:
            places = {**places, SCRATCHPAD: self._room(call.scratchpad)}
        self._planned.append((call, tuple(places[each.name] for each in call.operands)))
        self.threads = max(self.threads, call.threads)

    def _matmul(self, spec: Matmul) -> None:
        bias = {} if spec.bias is None else {"bias": spec.bias}
        self._named({"left": spec.left, "right": spec.right, **bias}, {"out": spec.out})
        if is_direct(spec):
            product = Product(spec)
            self._kernel(product, {each.name: each.name for each in product.operands})
            return
        element = computed_in(spec.left, spec.right, spec.out, spec.bias)
        places: dict[str, str | int] = {}
        layouts: dict[str, Any] = {}
        for name, layout in {"left": spec.left, "right": spec.right, **bias}.items():
            if layout.dtype is element and name != "bias":
                places[name], layouts[name] = name, layout
            else:
                places[name], layouts[name] = self._dense(name, layout, element)
        layouts["out"] = plain(spec.out.shape, element)
        places["out"] = self._target("out", spec.out, layouts["out"], spec.post)
        self._kernel(Product(Matmul(**layouts, threads=spec.threads)), places)
        self._finish(places["out"], layouts["out"], "out", spec.out, spec.post)

    def _target(
        self, name: str, layout: Layout, wanted: Layout, post: tuple[PostOp, ...]
    ) -> str | int:
        """Where a result is computed: in place, unless what is there is needed, or lies oddly."""
        held = any(isinstance(each, Accumulate) for each in post)
        return name if layout == wanted and not held else self._room(wanted.nbytes)

    def _finish(
        self, place: str | int, layout: Layout, name: str, out: Layout, post: tuple[PostOp, ...]
    ) -> None:
        """Apply the post-ops where the result was computed, then bring it to its place."""
        added = 0
        for each in post:
            if isinstance(each, Relu):
                self._strided(Operation.RELU, place, layout, place, layout)
            elif isinstance(each, Accumulate):
                self._strided(Operation.ADD, place, layout, name, out)
            else:
                self._strided(Operation.ADD, place, layout, f"added{added}", each.layout)
                added += 1
        if place != name:
            self._strided(Operation.COPY, name, out, place, layout)

    def _convolution(self, spec: Convolution) -> None:
        layouts = {"image": spec.image, "weight": spec.weight, "result": spec.result}
        target = "result" if spec.direction == "forward" else spec.direction
        bias = {} if spec.bias is None else {"bias": spec.bias}
        gradient = spec.direction == "weight"
        read = {name: layout for name, layout in layouts.items() if name != target}
        written = {target: layouts[target]}
        self._named(read | ({} if gradient else bias), written | (bias if gradient else {}))
        element = computed_in(*layouts.values())
        places: dict[str, str | int] = {}
        inner: dict[str, Any] = {}
        for name, layout in read.items():
            places[name], inner[name] = self._dense(name, layout, element)
        inner[target] = plain(layouts[target].shape, element)
        places[target] = self._target(target, layouts[target], inner[target], spec.post)
        place, layout = places[target], inner[target]
        if spec.direction != "forward":
            self._strided(Operation.ZERO, place, layout, place, layout)
        self._kernel(ColumnConvolution(replace(spec, **inner, bias=None, post=())), places)
        if spec.bias is not None and gradient:
            shape = inner["result"].shape
            function = channel_sums(shape, element, spec.bias.dtype)
            self._planned.append((function, ("bias", places["result"])))
        elif spec.bias is not None:
            row = (spec.bias.shape[0], *(1,) * len(spec.stride))
            assert spec.bias.strides is not None
            steps = (spec.bias.strides[0], *(0,) * len(spec.stride))
            column = plain(row, spec.bias.dtype, steps)
            self._strided(Operation.ADD, place, layout, "bias", column)
        self._finish(place, layout, target, layouts[target], spec.post)

    def bind(self) -> BoundCall:
        """The steps, each bound."""
        positions = {operand.name: at for at, operand in enumerate(self.operands)}
        last = len(self.operands) - 1

        def place(each: str | int) -> Place:
            return Place(last, each) if isinstance(each, int) else Place(positions[each])

        steps = []
        for call, places in self._planned:
            bound = BoundKernel(call) if isinstance(call, int) else call.bind()
            steps.append(Step(bound, tuple(map(place, places))))
        return BoundSteps(steps)


class BoundKernel(BoundCall):
    """Code without a context."""

    def __init__(self, function: int) -> None:
        words: Words = (ctypes.c_int64 * 1)()
        super().__init__(function, words, 1)
