"""Enters: a module's backward hooks, its inputs and its outputs. Leaves: both, with the hooks in.

Invariant: inputs and outputs pass an identity whose node carries the hooks, so gradients of all
inputs (or outputs) of the module arrive together, with None for what is no tensor.
"""

from __future__ import annotations

import warnings
from typing import Any

from thunk.autograd.function import Function
from thunk.autograd.meta import requires_grad
from thunk.dispatch.state import state
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase


class BackwardHookFunction(Function):
    """Passes tensors through a node of their own."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        constant = [each for each in tensors if not requires_grad(each)]
        ctx.mark_non_differentiable(*constant)
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients


class BackwardHooks:
    """The backward hooks of one call of a module."""

    def __init__(self, module: Any, hooks: list[Any], pre_hooks: list[Any]) -> None:
        self._module = module
        self._hooks = hooks
        self._pre_hooks = pre_hooks
        self._grad_outputs: Any = None
        self._input_places: list[int] | None = None
        self._output_places: list[int] | None = None
        self._input_specs: list[TensorSpec] = []
        self._input_count = 0
        self._output_count = 0

    def around_inputs(self, args: tuple[Any, ...]) -> Any:
        """The arguments to call forward with."""
        passed, self._input_places = _through_node(args, self._at_inputs)
        self._input_count = len(args)
        self._input_specs = [args[place]._spec for place in self._input_places or ()]
        return passed

    def around_outputs(self, result: Any) -> Any:
        """The result to hand out."""
        is_tuple = isinstance(result, tuple)
        values = result if is_tuple else (result,)
        passed, self._output_places = _through_node(values, self._at_outputs)
        self._output_count = len(values)
        return passed if is_tuple else passed[0]

    def _at_inputs(self, grad_inputs: Any, _: Any) -> Any:
        if self._grad_outputs is None:
            # The gradient reached the inputs without passing the outputs: double backward does.
            return None
        assert self._input_places is not None
        known = [
            t.zeros(spec.shape, dtype=spec.dtype, device=spec.device) if each is None else each
            for each, spec in zip(grad_inputs, self._input_specs, strict=True)
        ]
        gradients = _spread(self._input_places, known, self._input_count)
        for hook in self._hooks:
            replaced = hook(self._module, gradients, self._grad_outputs)
            if replaced is None:
                continue
            if len(replaced) != len(gradients):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, got "
                    f"{len(replaced)}, but expected {len(gradients)}"
                )
            gradients = replaced
        self._grad_outputs = None
        return tuple([gradients[place] for place in self._input_places])

    def _at_outputs(self, _: Any, grad_outputs: Any) -> Any:
        assert self._output_places is not None
        gradients = _spread(self._output_places, grad_outputs, self._output_count)
        for hook in self._pre_hooks:
            replaced = hook(self._module, gradients)
            if replaced is None:
                continue
            if len(replaced) != len(gradients):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, got "
                    f"{len(replaced)}, but expected {len(gradients)}"
                )
            gradients = replaced
        self._grad_outputs = gradients
        if self._input_places is None:
            self._without_inputs()
            self._grad_outputs = None
        return tuple([gradients[place] for place in self._output_places])

    def _without_inputs(self) -> None:
        """No input wants a gradient: the hooks fire as soon as those of the outputs are known."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients.",
            stacklevel=5,
        )
        nothing = (None,) * self._input_count
        for hook in self._hooks:
            replaced = hook(self._module, nothing, self._grad_outputs)
            if replaced is not None and not (
                isinstance(replaced, tuple) and all(each is None for each in replaced)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )


def _spread(places: list[int], values: Any, count: int) -> tuple[Any, ...]:
    spread = [None] * count
    for place, value in zip(places, values, strict=True):
        spread[place] = value
    return tuple(spread)


def _through_node(values: tuple[Any, ...], hook: Any) -> tuple[Any, list[int] | None]:
    """The values with their tensors passed through one node that carries `hook`."""
    places = [place for place, each in enumerate(values) if isinstance(each, TensorBase)]
    wanted = any(requires_grad(values[place]) for place in places)
    if not (wanted and state.grad_enabled):
        return values, None
    passed = BackwardHookFunction.apply(*[values[place] for place in places])
    node = next(each.grad_fn for each in passed if each.grad_fn is not None)
    node.register_hook(hook)
    result = list(values)
    for place, value in zip(places, passed, strict=True):
        result[place] = value
    kind: Any = type(values)
    return tuple(result) if kind is tuple else kind(*result), places
