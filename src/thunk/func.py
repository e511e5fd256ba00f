"""Functions of functions and of modules: what `torch.func` offers for modules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from thunk.nn.utils.stateless import _functional_call
from thunk.ops.registry import t
from thunk.transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

__all__ = [
    "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "stack_module_state", "vjp", "vmap",
]  # fmt: skip


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call `module` with other tensors, given by path, in the place of its own."""
    given = parameter_and_buffer_dicts
    if isinstance(given, Sequence) and not isinstance(given, dict):
        given = _merged(given)
    if not isinstance(given, dict):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(given)}"
        )
    return _functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def _merged(dicts: Sequence[Any]) -> dict[str, Any]:
    if not all(isinstance(each, dict) for each in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    counts = Counter(key for each in dicts for key in each)
    repeated = [key for key, count in counts.items() if count > 1]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {key: value for each in dicts for key, value in each.items()}


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of models of one class, each stacked along a new dimension."""
    given = list(models)
    if not given:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in given}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if len({type(model) for model in given}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in given]
    buffers = [dict(model.named_buffers()) for model in given]
    return _stacked(parameters), _stacked(buffers)


def _stacked(dicts: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: _stacked_leaf(name, [each[name] for each in dicts]) for name in dicts[0]}


def _stacked_leaf(name: str, tensors: list[Any]) -> Any:
    flags = {each.requires_grad for each in tensors}
    if len(flags) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    stacked = t.stack(tensors)
    return stacked.detach().requires_grad_() if flags.pop() else stacked
