"""Enters: an optimizer's update rule and its options. Leaves: its step over all parameters.

Invariant: a parameter without a gradient is left alone, state and all; the others and their states
are changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from thunk.lazy.update import update
from thunk.ops.registry import t
from thunk.ops.update.rule import UpdateRule
from thunk.optim.optimizer import Optimizer, _use_grad_for_differentiable
from thunk.runtime.tensors import empty_tensor
from thunk.types.layout import strided
from thunk.types.tensor_base import TensorBase


class ElementwiseOptimizer(Optimizer):
    """An optimizer that changes every element of a parameter by the same declared rule."""

    _rule: ClassVar[UpdateRule]
    _number_states = frozenset({"step"})
    # Whether the rule's numbers follow from group and step count: then parameters share them.
    _by_step: ClassVar[bool] = True

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters; `closure`, if given, computes the loss and the gradients."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            shared: dict[float, dict[str, Any]] = {}
            held = self._held(group)
            jobs = []
            for param in group["params"]:
                grad = param.grad
                if grad is not None:
                    jobs.append(self._job(group, held, param, dense(self, grad), shared))
            if jobs:
                self._change(group, held, jobs)
        return loss

    def _job(
        self, group: Mapping[str, Any], held: Sequence[str], param: Any, grad: Any,
        shared: dict[float, Any],
    ) -> Job:  # fmt: skip
        """What a parameter's update takes; counts the step."""
        state: dict[str, Any] = {}
        if held or self._number_states:
            state = self.state[param]
            if not state:
                state.update(self._start(group, param))
        return Job(param, grad, state, self._shared_numbers(group, state, param, shared))

    def _change(self, group: Mapping[str, Any], held: Sequence[str], jobs: list[Job]) -> None:
        """Run the updates, as one step of a trace where they only write what they are given."""
        params = [each.param for each in jobs]
        names, sets, numbers = _numbers_of(jobs)
        is_complex = True in [each._spec.dtype.is_complex for each in params]
        if is_complex or group.get("differentiable") or True in map(_has_tensor, sets):
            for job in jobs:
                self._update(group, held, job, job.numbers)
            return
        key = (self._rule, tuple(held), bool(group["maximize"]), names)
        states = [each.state[name] for name in held for each in jobs]

        def slow(given: list[Any]) -> None:
            tables = [dict(each) for each in sets]
            for (table, name), value in zip(_places(sets), given, strict=True):
                tables[table][name] = value
            for job in jobs:
                number = next(i for i, each in enumerate(sets) if each is job.numbers)
                self._update(group, held, job, tables[number])

        update(key, params + states, [each.grad for each in jobs], numbers, slow)

    def _start(self, group: Mapping[str, Any], param: Any) -> dict[str, Any]:
        """The state of a parameter before its first step."""
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass with _start")

    def _held(self, group: Mapping[str, Any]) -> Sequence[str]:
        """The states that the rule reads and returns, in its order."""
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass with _held")

    def _numbers(
        self, group: Mapping[str, Any], state: dict[str, Any], param: Any
    ) -> dict[str, Any]:
        """What the rule needs besides tensors; counts the step in `state`."""
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass with _numbers")

    def _shared_numbers(
        self, group: Mapping[str, Any], state: dict[str, Any], param: Any, shared: dict[float, Any]
    ) -> dict[str, Any]:
        """As `_numbers`, computed once for all parameters that made as many steps."""
        if not self._by_step:
            return self._numbers(group, state, param)
        before = state["step"]
        found: dict[str, Any] | None = shared.get(before)
        if found is None:
            found = shared[before] = self._numbers(group, state, param)
        state["step"] = before + 1
        return found

    def _update(
        self, group: Mapping[str, Any], held: Sequence[str], job: Job, numbers: dict[str, Any]
    ) -> None:
        param, grad, state = job.param, job.grad, job.state
        differentiable = bool(group.get("differentiable"))
        complex_param = param.dtype.is_complex
        operands = {name: state[name] for name in held}
        before = param.clone() if differentiable else param
        if complex_param:
            before, grad = t.view_as_real(before), t.view_as_real(grad)
            operands = {name: t.view_as_real(value) for name, value in operands.items()}
        results = self._rule(
            differentiable, param=before, grad=grad, **operands, **numbers,
            maximize=group["maximize"],
        )  # fmt: skip
        if complex_param:
            results = tuple([t.view_as_complex(each) for each in results])
        param.copy_(results[0])
        for name, new in zip(held, results[1:], strict=True):
            if differentiable:
                state[name] = new
            else:
                state[name].copy_(new)


class Job(NamedTuple):
    """One parameter's update."""

    param: Any
    grad: Any
    state: dict[str, Any]
    numbers: dict[str, Any]


def _has_tensor(numbers: dict[str, Any]) -> bool:
    return True in [isinstance(each, TensorBase) for each in numbers.values()]


def _numbers_of(jobs: list[Job]) -> tuple[Any, list[dict[str, Any]], list[float]]:
    """What of the numbers selects code, the distinct sets of numbers, and all floats in them."""
    sets: list[dict[str, Any]] = []
    which = []
    last: Any = None
    for job in jobs:
        if job.numbers is not last:
            last = job.numbers
            sets.append(last)
        which.append(len(sets) - 1)
    fixed = tuple([
        tuple([(name, float if type(value) is float else value) for name, value in each.items()])
        for each in sets
    ])  # fmt: skip
    numbers = [value for each in sets for value in each.values() if type(value) is float]
    return (fixed, tuple(which)), sets, numbers


def _places(sets: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """Where each float of `_numbers_of` stands."""
    return [
        (table, name) for table, each in enumerate(sets)
        for name, value in each.items() if type(value) is float
    ]  # fmt: skip


def dense(optimizer: Optimizer, grad: Any) -> Any:
    """The gradient, if it has an element for every element of its parameter."""
    if grad.layout is not strided:
        raise RuntimeError(
            f"{type(optimizer).__name__} does not support sparse gradients: expected a strided "
            f"gradient, got {grad.layout}; call to_dense() on it"
        )
    return grad


def zeros_like(param: Any) -> Any:
    """A state as large as `param` and laid out like it.

    Its zeros are there at once, so that the first step is recorded and compiled as every other.
    """
    state = empty_tensor(param._spec.fresh())
    memory = state._storage.data
    if memory is not None:
        memory[:] = 0
    return state
