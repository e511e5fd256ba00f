"""Enters: an optimizer's update rule and its options. Leaves: its step over all parameters.

Invariant: a parameter without a gradient is left alone, state and all; the others and their states
are changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from thunk.dispatch.hot import fast_kinds
from thunk.dispatch.state import no_grad_recording
from thunk.lazy.update import update
from thunk.ops.registry import t
from thunk.ops.update.rule import UpdateRule
from thunk.optim.optimizer import Optimizer
from thunk.runtime.tensors import empty_tensor
from thunk.types.layout import strided


class ElementwiseOptimizer(Optimizer):
    """An optimizer that changes every element of a parameter by the same declared rule."""

    _rule: ClassVar[UpdateRule]
    _number_states = frozenset({"step"})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters; `closure`, if given, computes the loss and the gradients."""
        loss = None if closure is None else self._evaluate(closure)
        for group in self.param_groups:
            if group.get("differentiable") or _has_tensor(group):
                with no_grad_recording(bool(self.defaults.get("differentiable", False))):
                    jobs = self._jobs(group, self._held(group))
                    self._change_each(group, jobs, jobs.sets)
                continue
            jobs = self._jobs(group, self._held(group))
            if jobs.params:
                self._change(group, jobs)
        return loss

    def _jobs(self, group: Mapping[str, Any], held: tuple[str, ...]) -> Jobs:
        """What the parameters' updates take; counts the steps.

        Numbers are computed once for all parameters whose states are at the same stage.
        """
        jobs = Jobs(held)
        params, grads, tables, which = jobs.params, jobs.grads, jobs.tables, jobs.which
        known: dict[Any, tuple[int, dict[str, Any]]] = {}
        stage_of, state_of = self._stage, self.state
        has_state = bool(held or self._number_states)
        for param in group["params"]:
            history = param._history
            grad = None if history is None else history.grad
            if grad is None:
                continue
            state: dict[str, Any] = state_of[param] if has_state else {}
            if not state:
                state.update(self._start(group, param))
            stage = stage_of(group, param, state)
            found = known.get(stage)
            if found is None:
                found = known[stage] = self._first_of_stage(group, jobs, state, stage)
            else:
                state.update(found[1])
            params.append(param)
            grads.append(grad)
            tables.append(state)
            which.append(found[0])
        return jobs

    def _first_of_stage(
        self, group: Mapping[str, Any], jobs: Jobs, state: dict[str, Any], stage: Any
    ) -> tuple[int, dict[str, Any]]:
        """The place of a new set of numbers, and what the step makes of the states' numbers."""
        jobs.sets.append(self._numbers(group, state, stage))
        return len(jobs.sets) - 1, {name: state[name] for name in self._number_states}

    def _change(self, group: Mapping[str, Any], jobs: Jobs) -> None:
        """Run the updates, as one step of a trace where they only write what they are given."""
        fixed, numbers = jobs.split_numbers()
        key = (self._rule, jobs.held, bool(group["maximize"]), fixed)

        def slow(given: Sequence[float]) -> None:
            self._change_each(group, jobs, jobs.with_numbers(given))

        update(key, jobs.params, jobs.grads, jobs.states(), numbers, slow, jobs.are_real)

    def _change_each(
        self, group: Mapping[str, Any], jobs: Jobs, sets: Sequence[dict[str, Any]]
    ) -> None:
        for grad in jobs.grads:
            dense(self, grad)
        for job in zip(jobs.params, jobs.grads, jobs.tables, jobs.which, strict=True):
            param, grad, state, number = job
            self._update(group, jobs.held, param, grad, state, sets[number])

    def _start(self, group: Mapping[str, Any], param: Any) -> dict[str, Any]:
        """The state of a parameter before its first step."""
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass with _start")

    def _held(self, group: Mapping[str, Any]) -> tuple[str, ...]:
        """The states that the rule reads and returns, in its order."""
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass with _held")

    def _stage(self, group: Mapping[str, Any], param: Any, state: dict[str, Any]) -> Any:
        """What of a state the numbers follow from: parameters at the same stage share them."""
        return state["step"]

    def _numbers(
        self, group: Mapping[str, Any], state: dict[str, Any], stage: Any
    ) -> dict[str, Any]:
        """What the rule needs besides tensors; counts the step in `state`."""
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass with _numbers")

    def _update(
        self, group: Mapping[str, Any], held: Sequence[str], param: Any, grad: Any,
        state: dict[str, Any], numbers: dict[str, Any],
    ) -> None:  # fmt: skip
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


class Jobs:
    """The updates of a group's parameters: what each one takes, by its place in the lists."""

    __slots__ = ("grads", "held", "params", "sets", "tables", "which")

    def __init__(self, held: tuple[str, ...]) -> None:
        self.held = held
        self.params: list[Any] = []
        self.grads: list[Any] = []
        self.tables: list[dict[str, Any]] = []  # the parameters' states
        self.which: list[int] = []  # of the sets of numbers
        self.sets: list[dict[str, Any]] = []

    def states(self) -> list[Any]:
        """The tensors of the states, all of one name before those of the next."""
        return [table[name] for name in self.held for table in self.tables]

    def are_real(self) -> bool:
        """Whether no parameter is complex."""
        return True not in [each._spec.dtype.is_complex for each in self.params]

    def split_numbers(self) -> tuple[Any, list[float]]:
        """What of the numbers selects code, and all floats in them."""
        fixed: list[Any] = []
        numbers: list[float] = []
        for each in self.sets:
            for name, value in each.items():
                if type(value) is float:
                    fixed.append(name)
                    numbers.append(value)
                else:
                    fixed.append((name, value))
        if len(self.sets) > 1:
            fixed.append(tuple(self.which))
        return tuple(fixed), numbers

    def with_numbers(self, given: Sequence[float]) -> list[dict[str, Any]]:
        """The sets, with other floats in the order of `split_numbers`."""
        left = iter(given)
        return [
            {name: next(left) if type(value) is float else value for name, value in each.items()}
            for each in self.sets
        ]


def _has_tensor(group: Mapping[str, Any]) -> bool:
    """Whether some option is a tensor."""
    options = (*group.values(), *group.get("betas", ()))
    return not fast_kinds.isdisjoint(map(type, options))


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
