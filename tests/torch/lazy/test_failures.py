"""A run that fails says so at the next sync, with the user's line; the step after it works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.torch.lazy.costs import batches, lazily, perceptron, train

import thunk
from thunk import optim
from thunk.base.errors import recorded_at
from thunk.runtime.backend import backend_named, register_backend


class Failing:
    """The interpreting backend; its runs fail while `error` is set."""

    name = "failing"

    def __init__(self) -> None:
        self.error: Exception | None = None

    def compile(self, graph: Any, donated: frozenset[int]) -> Any:
        return _Run(self, graph, backend_named("reference").compile(graph, donated))

    def wait(self) -> None:
        backend_named("reference").wait()


class _Run:
    def __init__(self, backend: Failing, graph: Any, inner: Any) -> None:
        self.backend, self.graph, self.inner = backend, graph, inner

    def _fail_once(self) -> None:
        error, self.backend.error = self.backend.error, None
        if error is not None:
            recorded_at(error, self.graph.nodes[-1].where)
            raise error

    def run(self, inputs: Sequence[Any], numbers: Sequence[Any]) -> Any:
        self._fail_once()
        return self.inner.run(inputs, numbers)

    def prepare(self, inputs: Sequence[Any], numbers: Sequence[Any]) -> Any:
        self._fail_once()
        return self.inner.prepare(inputs, numbers)

    def launch(self, inputs: Sequence[Any], numbers: Sequence[Any]) -> Any:
        self._fail_once()
        return self.inner.launch(inputs, numbers)

    def text(self) -> str:
        return str(self.inner.text())


backend = Failing()
register_backend(backend)


@pytest.fixture(autouse=True)
def lazy_execution() -> Any:
    with lazily("failing"):
        yield
    backend.error = None


@pytest.mark.parametrize("error", [MemoryError("no room"), RuntimeError("the backend broke")])
def test_a_failure_is_raised_at_the_next_sync_and_once(error: Exception) -> None:
    x = thunk.ones(3)
    for _ in range(2):
        assert (x * 2 + 1).tolist() == [3.0, 3.0, 3.0]
    backend.error = error
    y = x * 2 + 1  # the line that a failure names
    with pytest.raises(type(error), match=str(error)) as caught:
        y.tolist()
    notes = "\n".join(getattr(caught.value, "__notes__", []))
    assert "test_failures.py" in notes + str(caught.value)
    assert (x * 2 + 1).tolist() == [3.0, 3.0, 3.0]


def test_training_goes_on_after_a_failed_step() -> None:
    model = perceptron()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    train(model, optimizer, batches(3))
    before = [each.tolist() for each in model.parameters()]
    backend.error = RuntimeError("the backend broke")
    with pytest.raises(RuntimeError, match="the backend broke"):
        train(model, optimizer, batches(1))
        [each.tolist() for each in model.parameters()]
    assert all(len(each) == len(old) for each, old in zip(model.parameters(), before))
    loss = train(model, optimizer, batches(3))
    assert loss.item() == loss.item()


def test_an_operator_that_refuses_its_values_names_the_line() -> None:
    singular = thunk.zeros(2, 2)
    with pytest.raises(RuntimeError, match="inv"):
        (thunk.linalg.inv(singular) + 1).tolist()
    assert (thunk.ones(2) + 1).tolist() == [2.0, 2.0]


def test_an_interrupt_leaves_everything_pending() -> None:
    x = thunk.ones(2) * 3
    backend.error = KeyboardInterrupt()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        x.tolist()
    assert x.tolist() == [3.0, 3.0]
