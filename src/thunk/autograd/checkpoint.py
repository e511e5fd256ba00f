"""Enters: a function and its inputs. Leaves: its results; backward computes the inside again.

Invariant: the second computation sees the inputs, modes and random state of the first, so it gives
the same values.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from thunk.autograd.api import backward
from thunk.autograd.function import Function
from thunk.autograd.graph import saved_tensors_hooks
from thunk.autograd.meta import requires_grad
from thunk.dispatch.state import no_grad_recording, state
from thunk.runtime.random import default_generator
from thunk.types.tensor_base import TensorBase, is_tensor


class CheckpointError(RuntimeError):
    """The second computation did not do what the first did."""


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
    context_fn: Any = None, determinism_check: str = "default", debug: bool = False,
    preserve_rng_state: bool = True, early_stop: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """Run `function` without keeping its intermediate values; backward runs it again for them."""
    if use_reentrant is None:
        warnings.warn(
            "checkpoint: the use_reentrant parameter should be passed explicitly; "
            "use_reentrant=False is recommended and is used here",
            stacklevel=2,
        )
        use_reentrant = False
    if use_reentrant:
        if kwargs:
            raise ValueError(
                f"Unexpected keyword arguments: {', '.join(kwargs)}; use_reentrant=True takes none"
            )
        _warn_of_constants(args)
        return _Reentrant.apply(function, preserve_rng_state, *args)
    contexts = context_fn() if context_fn is not None else (_nothing(), _nothing())
    if not state.grad_enabled:
        with contexts[0]:
            return function(*args, **kwargs)
    frame = _Frame(function, args, kwargs, preserve_rng_state, contexts[1], determinism_check)
    with contexts[0], saved_tensors_hooks(frame.pack, frame.unpack):
        return function(*args, **kwargs)


def _warn_of_constants(args: tuple[Any, ...]) -> None:
    if state.grad_enabled and not any(requires_grad(each) for each in args if is_tensor(each)):
        warnings.warn(
            "checkpoint: expected an input with requires_grad=True, got none; with "
            "use_reentrant=True all gradients will be None, so pass use_reentrant=False",
            stacklevel=3,
        )


def _nothing() -> Any:
    return contextlib.nullcontext()


class _Stop(Exception):
    """Everything that backward needs has been computed again."""


class _Frame:
    """One checkpointed call: counts what the first run saves, and finds it in the second."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
        preserve: bool, context: Any, determinism_check: str,
    ) -> None:  # fmt: skip
        self.call = (function, args, kwargs)
        self.random = default_generator.get_state() if preserve else None
        self.grad_enabled = state.grad_enabled
        self.context = context
        self.compares = determinism_check == "default"
        self.specs: list[Any] = []
        self.again: list[Any] = []

    def pack(self, value: Any) -> int:
        self.specs.append(value._spec)
        return len(self.specs) - 1

    def unpack(self, place: int) -> Any:
        if not self.again:
            self._run_again()
        if len(self.again) != len(self.specs):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                f"original forward and recomputation. Number of tensors saved during forward: "
                f"{len(self.specs)}. Number of tensors saved during recomputation: "
                f"{len(self.again)}"
            )
        value = self.again[place]
        first = self.specs[place]
        same = (value._spec.shape, value._spec.dtype) == (first.shape, first.dtype)
        if self.compares and not same:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                f"different metadata than during the forward pass: saved {first.shape}, "
                f"recomputed {value._spec.shape}"
            )
        return value

    def _run_again(self) -> None:
        function, args, kwargs = self.call

        def keep(value: Any) -> Any:
            self.again.append(value.detach())
            if len(self.again) == len(self.specs):
                raise _Stop
            return value

        inputs: list[Any] = [_as_leaf(each) for each in args]
        with (
            _random_state(self.random), no_grad_recording(self.grad_enabled), self.context,
            contextlib.suppress(_Stop), saved_tensors_hooks(keep, lambda value: value),
        ):  # fmt: skip
            function(*inputs, **kwargs)


@contextlib.contextmanager
def _random_state(kept: Any) -> Iterator[None]:
    if kept is None:
        yield
        return
    present = default_generator.get_state()
    default_generator.set_state(kept)
    try:
        yield
    finally:
        default_generator.set_state(present)


class _Reentrant(Function):
    """The older form: backward runs a whole backward pass of its own."""

    @staticmethod
    def forward(ctx: Any, function: Any, preserve: bool, *args: Any) -> Any:
        ctx.function = function
        ctx.random = default_generator.get_state() if preserve else None
        ctx.inputs = [None if isinstance(each, TensorBase) else each for each in args]
        ctx.places = [i for i, each in enumerate(args) if isinstance(each, TensorBase)]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        inputs: list[Any] = list(ctx.inputs)
        for place, value in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[place] = _as_leaf(value)
        with _random_state(ctx.random), no_grad_recording(True):
            returned = ctx.function(*inputs)
        outputs = returned if isinstance(returned, tuple) else (returned,)
        pairs = [
            (output, gradient) for output, gradient in zip(outputs, grads, strict=True)
            if isinstance(output, TensorBase) and requires_grad(output)
        ]  # fmt: skip
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward([pair[0] for pair in pairs], [pair[1] for pair in pairs])
        found = [each.grad if is_tensor(each) else None for each in inputs]
        return (None, None, *found)


def _as_leaf(value: Any) -> Any:
    """An input cut off from what made it, so that the second computation starts there."""
    if not isinstance(value, TensorBase):
        return value
    copied: Any = value
    return copied.detach().requires_grad_(requires_grad(value))


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run `functions` one after another in `segments` checkpointed groups; the last runs plain."""
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments

    def group(start: int, end: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for step in steps[start:end]:
                value = step(value)
            return value

        return run

    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(group(start, end), input, use_reentrant=use_reentrant, **kwargs)
    return group(end, len(steps))(input)
