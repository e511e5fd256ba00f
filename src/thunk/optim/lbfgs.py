"""L-BFGS: Newton's method with curvature guessed from past steps.

Enters: a closure that computes loss and gradients. Leaves: parameters after up to `max_iter` steps.
Invariant: parameters and gradients are handled as one flat vector; the choice of the next step
needs their values, so this is the one optimizer that waits for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.autograd.modes import enable_grad
from thunk.ops.registry import t
from thunk.optim.checks import check_lr
from thunk.optim.elementwise import dense
from thunk.optim.line_search import Point, WolfeSearch
from thunk.optim.numbers import number
from thunk.optim.optimizer import Optimizer, ParamsT, _use_grad_for_differentiable


class LBFGS(Optimizer):
    """Minimises a function of all parameters; `step` calls the closure several times."""

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr("LBFGS", lr)
        defaults = {
            "lr": lr, "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
            "history_size": history_size, "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(
                f"LBFGS: expected one parameter group, got {len(self.param_groups)}; LBFGS doesn't "
                "support per-parameter options"
            )

    @property
    def _params(self) -> list[Any]:
        params: list[Any] = self.param_groups[0]["params"]
        return params

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Minimise the loss that `closure` computes, with its gradients."""
        if closure is None:
            raise TypeError("LBFGS.step: expected a closure that computes the loss, got None")
        return _Run(self, enable_grad()(closure)).minimise()


class _Run:
    """One call of `step`."""

    def __init__(self, optimizer: LBFGS, closure: Callable[[], Any]) -> None:
        self.optimizer = optimizer
        self.params = optimizer._params
        self.group = optimizer.param_groups[0]
        self.state: dict[str, Any] = optimizer.state[self.params[0]]
        self.closure = closure
        self.evaluations = 0

    def minimise(self) -> Any:
        state = self.state
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = self.closure()
        loss, grad = float(first), self._gradient()
        self._count(1)
        if self._converged(grad):
            return first
        history = _History(state, self.group["history_size"])
        for iteration in range(1, self.group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = history.direction(grad, state["n_iter"] == 1)
            history.remember(grad, loss)
            step: Any = number(self.group["lr"])
            if state["n_iter"] == 1:
                step = min(1.0, 1.0 / grad.abs().sum()) * step
            history.step = step
            slope = grad.dot(direction)
            if slope > -self.group["tolerance_change"]:
                break
            last = iteration == self.group["max_iter"]
            here = Point(0, loss, grad, slope)
            loss, grad, history.step = self._move(step, here, direction, last)
            if last or self._finished(history.step, direction, loss - here.loss, grad):
                break
        history.save(state)
        return first

    def _move(
        self, step: Any, here: Point, direction: Any, last: bool
    ) -> tuple[float, Any, Any]:
        """Change the parameters along the direction; loss, gradient and the step taken."""
        search = self.group["line_search_fn"]
        if search is None:
            self._add(direction, step)
            if last:
                return here.loss, here.grad, step
            loss, grad = float(self.closure()), self._gradient()
            self._count(1)
            return loss, grad, step
        if search != "strong_wolfe":
            raise RuntimeError(
                f"LBFGS: expected line_search_fn=None or 'strong_wolfe', got {search!r}"
            )
        origin = [each.clone() for each in self.params]

        def evaluate(trial: Any) -> tuple[float, Any]:
            self._add(direction, trial)
            found = float(self.closure()), self._gradient()
            for param, value in zip(self.params, origin, strict=True):
                param.copy_(value)
            return found

        budget = self.group["max_eval"] - self.evaluations
        line = WolfeSearch(evaluate, direction, here, budget, self.group["tolerance_change"])
        best = line.run(step)
        self._add(direction, best.step)
        self._count(line.evaluations)
        return best.loss, best.grad, best.step

    def _finished(self, step: Any, direction: Any, change: float, grad: Any) -> bool:
        tolerance = self.group["tolerance_change"]
        return bool(
            self.evaluations >= self.group["max_eval"]
            or self._converged(grad)
            or (direction * step).abs().max() <= tolerance
            or abs(change) < tolerance
        )

    def _converged(self, grad: Any) -> bool:
        return bool(grad.abs().max() <= self.group["tolerance_grad"])

    def _count(self, evaluations: int) -> None:
        self.evaluations += evaluations
        self.state["func_evals"] += evaluations

    def _gradient(self) -> Any:
        return t.cat([self._flat_gradient(param) for param in self.params])

    def _flat_gradient(self, param: Any) -> Any:
        grad = t.zeros_like(param) if param.grad is None else dense(self.optimizer, param.grad)
        return (t.view_as_real(grad) if grad.is_complex() else grad).reshape(-1)

    def _add(self, direction: Any, step: Any) -> None:
        start = 0
        for param in self.params:
            real = t.view_as_real(param) if param.is_complex() else param
            part = direction[start : start + real.numel()].view_as(real)
            real.add_(part * step)
            start += real.numel()


class _History:
    """Past steps with the changes of the gradient they made, from which curvature is guessed."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.size = size
        self.last_direction: Any = state.get("d")
        self.step: Any = state.get("t")
        self.changes: list[Any] = state.get("old_dirs") or []
        self.steps: list[Any] = state.get("old_stps") or []
        self.inverses: list[Any] = state.get("ro") or []
        self.scale: Any = state.get("H_diag", 1)
        self.last_grad: Any = state.get("prev_flat_grad")
        self.last_loss: Any = state.get("prev_loss")
        self.shares: list[Any] | None = state.get("al")

    def direction(self, grad: Any, first: bool) -> Any:
        """Where to go from a point with gradient `grad`."""
        if first:
            self.changes, self.steps, self.inverses, self.scale = [], [], [], 1
            self.last_direction = grad.neg()
            return self.last_direction
        self._learn(grad - self.last_grad, self.last_direction * self.step)
        shares: list[Any] = [None] * len(self.changes)
        vector = grad.neg()
        for at in range(len(self.changes) - 1, -1, -1):
            shares[at] = self.steps[at].dot(vector) * self.inverses[at]
            vector = vector - self.changes[at] * shares[at]
        vector = vector * self.scale
        for at, share in enumerate(shares):
            back = self.changes[at].dot(vector) * self.inverses[at]
            vector = vector + self.steps[at] * (share - back)
        self.shares = shares + [None] * (self.size - len(shares))
        self.last_direction = vector
        return vector

    def _learn(self, change: Any, step: Any) -> None:
        """Keep one more pair, if the function curves upwards along it."""
        product = change.dot(step)
        if not product > 1e-10:
            return
        if len(self.changes) == self.size:
            for kept in (self.changes, self.steps, self.inverses):
                kept.pop(0)
        self.changes.append(change)
        self.steps.append(step)
        self.inverses.append(1.0 / product)
        self.scale = product / change.dot(change)

    def remember(self, grad: Any, loss: float) -> None:
        self.last_grad = grad
        self.last_loss = loss

    def save(self, state: dict[str, Any]) -> None:
        state.update(
            d=self.last_direction, t=self.step, old_dirs=self.changes, old_stps=self.steps,
            ro=self.inverses, H_diag=self.scale, prev_flat_grad=self.last_grad,
            prev_loss=self.last_loss,
        )  # fmt: skip
        if self.shares is not None:
            state["al"] = self.shares
