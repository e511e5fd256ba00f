"""Enters: a random source. Leaves: programs over a few tensors, and what running one did.

A program is a list of statements, each a tuple of plain values, so it prints, shrinks and replays.
`run` executes one with any module that has PyTorch's names; invariant: two runs are compared by
what they report, never by looking inside.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
from hypothesis import strategies as st

SHAPES = ((), (1,), (3,), (2, 3), (3, 2), (1, 3), (2, 1, 3))
UNARY = ("neg", "mul_number", "add_number", "mul_self", "sum", "clone")
BINARY = ("add", "sub", "mul")
VIEWS = (
    "select", "slice", "transpose", "unsqueeze", "squeeze", "expand", "flat", "detach", "alias",
)  # fmt: skip
INPLACE_NUMBER = ("add_", "mul_", "fill_", "zero_")
INPLACE_TENSOR = ("add_", "mul_", "copy_", "sub_")


class Outcome(NamedTuple):
    """What one statement did: an error's class name, or nothing, and the state after it."""

    error: str
    state: tuple[Any, ...]


def _index() -> st.SearchStrategy[int]:
    return st.integers(0, 63)


@st.composite
def statements(draw: st.DrawFn) -> tuple[Any, ...]:
    """One statement; indices are taken modulo the number of tensors when it runs."""
    kind = draw(
        st.sampled_from(
            ("leaf", "unary", "binary", "binary", "view", "view", "view", "inplace_number",
             "inplace_tensor", "inplace_tensor", "setitem", "backward", "grad", "requires_grad",
             "no_grad", "clear_grad", "hook", "retain", "data", "drop")
        )
    )  # fmt: skip
    first, second = draw(_index()), draw(_index())
    guarded = draw(st.sampled_from((False, False, False, True)))
    if kind == "leaf":
        return (kind, draw(st.sampled_from(SHAPES)), draw(st.booleans()))
    if kind == "unary":
        return (kind, draw(st.sampled_from(UNARY)), first, guarded)
    if kind == "binary":
        return (kind, draw(st.sampled_from(BINARY)), first, second, guarded)
    if kind == "view":
        return (kind, draw(st.sampled_from(VIEWS)), first, draw(st.integers(0, 2)), guarded)
    if kind == "inplace_number":
        return (kind, draw(st.sampled_from(INPLACE_NUMBER)), first, guarded)
    if kind in ("inplace_tensor", "setitem"):
        return (kind, draw(st.sampled_from(INPLACE_TENSOR)), first, second, guarded)
    if kind in ("backward", "grad"):
        return (kind, first, second, draw(st.booleans()))
    return (kind, first, draw(st.booleans()))


def programs(longest: int = 24) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Programs that begin with two leaves, one of them differentiable."""
    start = [("leaf", (2, 3), True), ("leaf", (3,), False)]
    return st.lists(statements(), min_size=3, max_size=longest).map(lambda rest: start + rest)


class Run:
    """One execution of a program on one library."""

    def __init__(self, library: Any, observe_each: bool = True) -> None:
        self.library = library
        self.observe_each = observe_each
        self.tensors: list[Any] = []
        self.made = 0
        self.log: list[Any] = []

    def pick(self, index: int) -> Any:
        return self.tensors[index % len(self.tensors)]

    def keep(self, value: Any) -> None:
        self.tensors.append(value)

    def run(self, program: list[tuple[Any, ...]]) -> list[Outcome]:
        """Execute every statement; an error is an outcome and the program goes on."""
        outcomes = []
        for statement in program:
            error = ""
            try:
                getattr(self, f"do_{statement[0]}")(*statement[1:])
            except (RuntimeError, ValueError, IndexError, TypeError) as raised:
                error = type(raised).__name__
            last = statement is program[-1]
            outcomes.append(Outcome(error, self.state() if self.observe_each or last else ()))
        return outcomes

    def state(self) -> tuple[Any, ...]:
        """All that a user can see of every tensor."""
        return (tuple([self.facts(each) for each in self.tensors]), tuple(self.log))

    def facts(self, tensor: Any) -> tuple[Any, ...]:
        with self.library.no_grad():
            values = _numbers(tensor.detach().tolist())
            try:
                leaf: bool | str = tensor.is_leaf
            except RuntimeError:
                leaf = "refused"
            gradient = tensor.grad if leaf is True or tensor.retains_grad else None
            shown = None if gradient is None else _numbers(gradient.detach().tolist())
        return (
            tuple(tensor.shape), tuple(tensor.stride()), values, tensor.requires_grad, leaf,
            tensor._version, shown,
        )  # fmt: skip

    def guard(self, guarded: bool) -> Any:
        return self.library.set_grad_enabled(not guarded)

    def do_leaf(self, shape: tuple[int, ...], differentiable: bool) -> None:
        self.made += 1
        count = int(numpy.prod(shape, dtype=int))
        values = (numpy.arange(count) * 0.25 + 0.125 * self.made - 0.5).reshape(shape)
        tensor = self.library.tensor(values.tolist(), dtype=self.library.float64)
        self.keep(tensor.requires_grad_(differentiable))

    def do_unary(self, name: str, first: int, guarded: bool) -> None:
        x = self.pick(first)
        with self.guard(guarded):
            if name == "mul_number":
                self.keep(x * 0.5)
            elif name == "add_number":
                self.keep(x + 1.25)
            elif name == "mul_self":
                self.keep(x * x)
            else:
                self.keep(getattr(x, name)())

    def do_binary(self, name: str, first: int, second: int, guarded: bool) -> None:
        with self.guard(guarded):
            self.keep(getattr(self.library, name)(self.pick(first), self.pick(second)))

    def do_view(self, name: str, first: int, parameter: int, guarded: bool) -> None:
        x = self.pick(first)
        with self.guard(guarded):
            self.keep(_view(x, name, parameter))

    def do_inplace_number(self, name: str, first: int, guarded: bool) -> None:
        x = self.pick(first)
        with self.guard(guarded):
            x.zero_() if name == "zero_" else getattr(x, name)(0.75)

    def do_inplace_tensor(self, name: str, first: int, second: int, guarded: bool) -> None:
        target, source = self.pick(first), self.pick(second)
        if name == "copy_" and target is source:
            return  # PyTorch makes this nothing, without its usual checks
        with self.guard(guarded):
            getattr(target, name)(source)

    def do_setitem(self, name: str, first: int, second: int, guarded: bool) -> None:
        with self.guard(guarded):
            self.pick(first)[0] = self.pick(second)

    def do_backward(self, first: int, second: int, retain: bool) -> None:
        self.pick(first).sum().backward(retain_graph=retain)

    def do_grad(self, first: int, second: int, create: bool) -> None:
        found = self.library.autograd.grad(
            self.pick(first).sum(), [self.pick(second)], create_graph=create, retain_graph=True,
            allow_unused=True,
        )  # fmt: skip
        if found[0] is not None:
            # The write count of a gradient is no contract; that of a product of it is.
            self.keep(found[0] * 1)

    def do_requires_grad(self, first: int, value: bool) -> None:
        self.pick(first).requires_grad_(value)

    def do_no_grad(self, first: int, value: bool) -> None:
        with self.library.no_grad():
            self.pick(first).mul_(0.5)

    def do_clear_grad(self, first: int, value: bool) -> None:
        self.pick(first).grad = None

    def do_hook(self, first: int, replace: bool) -> None:
        def hook(gradient: Any) -> Any:
            self.log.append(_numbers(gradient.detach().tolist()))
            return gradient * 2 if replace else None

        self.pick(first).register_hook(hook)

    def do_retain(self, first: int, value: bool) -> None:
        self.pick(first).retain_grad()

    def do_data(self, first: int, value: bool) -> None:
        self.keep(self.pick(first).data)

    def do_drop(self, first: int, value: bool) -> None:
        if len(self.tensors) > 3:
            del self.tensors[first % len(self.tensors)]


def _view(x: Any, name: str, parameter: int) -> Any:
    if name == "select":
        return x.select(parameter % max(x.dim(), 1), 0)
    if name == "slice":
        return x[parameter % 2 :]
    if name == "transpose":
        return x.transpose(0, -1)
    if name == "unsqueeze":
        return x.unsqueeze(parameter % (x.dim() + 1))
    if name == "squeeze":
        return x.squeeze()
    if name == "expand":
        return x.expand(2, *x.shape)
    if name == "flat":
        return x.view(-1)
    if name == "alias":
        return x[...]
    return x.detach()


def _numbers(array: Any) -> tuple[Any, ...]:
    # Rounded, since the order of a sum may differ; nan equals nan.
    return tuple(f"{float(value):.6g}" for value in numpy.asarray(array).reshape(-1))
