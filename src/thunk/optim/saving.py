"""Enters: an optimizer's groups and state. Leaves: PyTorch's state dict of them, and the way back.

Invariant: parameters are numbered in the order of the groups; a state that is a number in memory
is a 0-dim tensor in a state dict.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from thunk.tensor.creation import tensor
from thunk.types.dtype import dtype, float32, float64
from thunk.types.promotion import get_default_dtype
from thunk.types.tensor_base import TensorBase


def scalar_dtype() -> dtype:
    """The dtype of counts and other numbers in a state dict."""
    return float64 if get_default_dtype() is float64 else float32


def groups_to_save(
    groups: Iterable[Mapping[str, Any]],
) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """The groups with numbers for parameters, and the number of each parameter by identity."""
    numbers: dict[int, int] = {}
    saved = []
    start = 0
    for group in groups:
        own = {id(param): number for number, param in enumerate(group["params"], start)}
        numbers = {**own, **numbers}
        start += len(group["params"])
        options = {name: value for name, value in group.items() if name != "params"}
        saved.append({**options, "params": [numbers[id(param)] for param in group["params"]]})
    return saved, numbers


def state_to_save(
    state: Mapping[Any, Any], numbers: Mapping[int, int], number_states: frozenset[str]
) -> dict[Any, Any]:
    """The state by number of parameter."""
    saved = {}
    for key, value in state.items():
        place = numbers[id(key)] if isinstance(key, TensorBase) else key
        saved[place] = _with_tensors(value, number_states) if number_states else value
    return saved


def _with_tensors(state: dict[str, Any], number_states: frozenset[str]) -> dict[str, Any]:
    numbers = {
        name: tensor(value, dtype=scalar_dtype())
        for name, value in state.items()
        if name in number_states and isinstance(value, (int, float))
    }
    return {**state, **numbers}


def load_groups(
    name: str, groups: list[dict[str, Any]], loaded: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], dict[Any, Any]]:
    """The loaded groups around the parameters of `groups`, and the parameter of each number."""
    saved = copy.deepcopy(loaded["param_groups"])
    if len(saved) != len(groups):
        raise ValueError(
            f"{name}: loaded state dict has a different number of parameter groups: expected "
            f"{len(groups)}, got {len(saved)}"
        )
    params: dict[Any, Any] = {}
    for index, (group, new) in enumerate(zip(groups, saved, strict=True)):
        if len(group["params"]) != len(new["params"]):
            raise ValueError(
                f"{name}: loaded state dict contains a parameter group that doesn't match the size "
                f"of optimizer's group: expected {len(group['params'])} parameters in group "
                f"{index}, got {len(new['params'])}"
            )
        params.update(zip(new["params"], group["params"], strict=True))
        new["params"] = group["params"]
        if "param_names" in group:
            new.setdefault("param_names", group["param_names"])
    return saved, params


def load_state(
    loaded: Mapping[str, Any], params: Mapping[Any, Any], number_states: frozenset[str]
) -> defaultdict[Any, Any]:
    """The loaded state by parameter, tensors where and as their parameters are."""
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in loaded["state"].items():
        if key in params:
            state[params[key]] = _placed(params[key], value, None, number_states)
        else:
            state[key] = value
    return state


def _placed(param: Any, value: Any, key: Any, number_states: frozenset[str]) -> Any:
    if isinstance(value, TensorBase):
        return _like_param(param, value, key, number_states)
    if isinstance(value, dict):
        return {name: _placed(param, each, name, number_states) for name, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        parts: Any = [_placed(param, each, None, number_states) for each in value]
        return type(value)(parts)  # type: ignore[call-arg]
    return value


def _like_param(param: Any, value: Any, key: Any, number_states: frozenset[str]) -> Any:
    if key in number_states or key == "step":
        return value
    if param.is_floating_point():
        return value.to(dtype=param.dtype, device=param.device)
    return value.to(device=param.device)
