"""Enters: a user's `Function` with forward and backward. Leaves: its results with one node behind.

Invariant: the node is the `ctx` that the user's methods receive, as in PyTorch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from thunk.autograd.edges import edge_of
from thunk.autograd.fit import fit
from thunk.autograd.function_outputs import finish_outputs
from thunk.autograd.meta import requires_grad
from thunk.autograd.node import Grads, Node
from thunk.autograd.saved import FREED, SavedValue
from thunk.dispatch.state import no_grad_recording, state
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase


class FunctionCtx(Node):
    """What `forward` and `backward` share; also the node in the backward graph."""

    needs_input_grad: tuple[bool, ...] = ()
    _function: Any = None

    def __init__(self) -> None:
        super().__init__((), [])
        self.to_save: tuple[Any, ...] = ()
        self.dirty_tensors: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()
        self.materialize_grads = True
        self._saved: list[SavedValue | None] | None = None
        self._input_specs: list[TensorSpec | None] = []
        self._positions: list[int] = []
        self._constant_outputs: frozenset[int] = frozenset()

    def name(self) -> str:
        return type(self).__name__

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward, with a check that nobody writes to them meanwhile."""
        for each in tensors:
            if each is not None and not isinstance(each, TensorBase):
                raise TypeError(
                    "save_for_backward can only save variables, but argument is of type "
                    f"{type(each).__name__}; keep other values as attributes of ctx"
                )
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Accepted for compatibility; forward-mode differentiation does not run."""

    def mark_dirty(self, *tensors: Any) -> None:
        """State which inputs `forward` wrote to; they must be returned."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """State which outputs are constants as far as calculus is concerned."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward sees zeros (True) or None for outputs that got no gradient."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        if self._saved is None:
            if self.edges or not self.to_save:
                raise RuntimeError(FREED)
            return tuple(self.to_save)
        return tuple([None if each is None else each.unpack(self) for each in self._saved])

    def keep(self, outputs: list[Any]) -> None:
        """Turn what `save_for_backward` named into saved values."""
        places = {id(each): index for index, each in enumerate(outputs)}
        self._saved = [
            None if each is None else SavedValue(each, places.get(id(each)))
            for each in self.to_save
        ]
        self.to_save = ()

    def apply(self, *args: Any) -> Any:
        """The engine's step: gradients in, one gradient an edge out."""
        grads: Grads = list(args[0])
        if self.materialize_grads:
            grads = [
                _zeros(spec) if each is None and spec is not None else each
                for each, spec in zip(grads, self.output_specs, strict=True)
            ]
        returned = self._function._run_backward(self, grads)
        return self._checked(returned if isinstance(returned, tuple) else (returned,))

    def _checked(self, returned: tuple[Any, ...]) -> Grads:
        wanted = len(self.needs_input_grad)
        given = list(returned)
        while len(given) > wanted and given[-1] is None:
            given.pop()
        if len(given) != wanted:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{wanted}, got {len(returned)})"
            )
        results: Grads = []
        for edge, position, spec in zip(
            self.edges, self._positions, self._input_specs, strict=True
        ):
            gradient = given[position]
            if gradient is None or edge is None or spec is None:
                results.append(None)
                continue
            if not isinstance(gradient, TensorBase):
                raise RuntimeError(
                    f"function {self.name()} returned a gradient of type "
                    f"{type(gradient).__name__} at position {position}, expected a Tensor or None"
                )
            results.append(self._fitted(gradient, spec, position))
        return results

    def _fitted(self, gradient: Any, spec: TensorSpec, position: int) -> Any:
        try:
            return fit(gradient, spec)
        except RuntimeError as error:
            raise RuntimeError(
                f"Function {self.name()} returned an invalid gradient at index {position} - got "
                f"{list(gradient._spec.shape)} but expected shape compatible with "
                f"{list(spec.shape)}"
            ) from error

    def release(self) -> None:
        if self._saved:
            self._saved = None


class Function:
    """A differentiable operation written by the user: subclass it and call `apply`."""

    _context: type[FunctionCtx]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = type(self).__name__
        raise RuntimeError(f"{name}: expected {name}.apply(...), got a call of an instance")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results; with `setup_context` defined it takes no ctx."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Fill ctx after a forward that takes none."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Gradients of the inputs from those of the results."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Forward-mode rule; accepted, not used."""
        raise NotImplementedError("autograd.Function.jvp: expected backward mode; use backward")

    @classmethod
    def _run_backward(cls, ctx: FunctionCtx, grads: Grads) -> Any:
        own_backward = cls.backward is not Function.backward
        if own_backward and cls.vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        rule = cls.backward if own_backward else cls.vjp
        return rule(ctx, *grads)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record the node."""
        ctx = _context_class(cls)()
        recording = state.grad_enabled and any(
            isinstance(each, TensorBase) and requires_grad(each) for each in args
        )
        ctx.needs_input_grad = tuple(
            [isinstance(each, TensorBase) and requires_grad(each) for each in args]
        )
        ctx._positions = [i for i, each in enumerate(args) if isinstance(each, TensorBase)]
        inputs = [args[i] for i in ctx._positions]
        edges = tuple([edge_of(each) if recording else None for each in inputs])
        specs = [each._spec for each in inputs]
        with no_grad_recording():
            returned = _run_forward(cls, ctx, args, kwargs)
        single = not isinstance(returned, tuple)
        outputs = [returned] if single else list(returned)
        ctx.edges = edges if recording else ()
        ctx._input_specs = specs
        outputs = finish_outputs(ctx, inputs, outputs, recording)
        return outputs[0] if single else tuple(outputs)


def _run_forward(
    cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if cls.setup_context is Function.setup_context:
        return cls.forward(ctx, *args, **kwargs)
    result = cls.forward(*args, **kwargs)
    cls.setup_context(ctx, args, result)
    return result


def _context_class(cls: type[Function]) -> type[FunctionCtx]:
    """The node class of one Function, kept on it so that the two live equally long."""
    made = cls.__dict__.get("_context")
    if made is None:
        made = type(f"{cls.__name__}Backward", (FunctionCtx,), {"_function": cls})
        cls._context = made
    return made


def _zeros(spec: TensorSpec) -> Any:
    return t.zeros(spec.shape, dtype=spec.dtype, device=spec.device)


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run a backward without recording, and refuse to differentiate what it returns."""

    @functools.wraps(function)
    def wrapped(ctx: Any, *grads: Any) -> Any:
        recording = state.grad_enabled
        with no_grad_recording():
            returned = function(ctx, *grads)
        watched = [each for each in grads if isinstance(each, TensorBase) and requires_grad(each)]
        if not recording or not watched:
            return returned
        values = returned if isinstance(returned, tuple) else (returned,)
        refused = tuple(
            [_Refused.apply(each, *watched) if isinstance(each, TensorBase) else each
             for each in values]
        )  # fmt: skip
        return refused if isinstance(returned, tuple) else refused[0]

    return wrapped


class _Refused(Function):
    """Passes a value on and raises when somebody differentiates it."""

    @staticmethod
    def forward(ctx: Any, value: Any, *sources: Any) -> Any:
        return value.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )
