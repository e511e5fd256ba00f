"""Enters: parameters and options. Leaves: `Optimizer`, what every optimizer is made from.

Invariant: a step reads no tensor's value and writes parameters and states in place, so that a
trace of it runs as one program; `after_step` is called when it is recorded.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, cast

from thunk.autograd.modes import enable_grad, set_grad_enabled
from thunk.autograd.node import RemovableHandle, add_hook
from thunk.lazy.step import after_optimizer_step
from thunk.optim.saving import groups_to_save, load_groups, load_state, state_to_save
from thunk.tensor.queries import typename
from thunk.types.tensor_base import TensorBase

ParamsT = Iterable[TensorBase] | Iterable[dict[str, Any]] | Iterable[tuple[str, TensorBase]]
_params_t = ParamsT  # the name that older scripts import
StateDict = dict[str, Any]
Hook = Callable[..., Any]

# Called after the outermost step of any optimizer has returned.
after_step: list[Callable[[], None]] = [after_optimizer_step]


class _Depth(threading.local):
    """How many optimizers' steps this thread is in: one may call another's."""

    value = 0


_depth = _Depth()

_global_optimizer_pre_hooks: dict[int, Hook] = OrderedDict()
_global_optimizer_post_hooks: dict[int, Hook] = OrderedDict()


class _RequiredParameter:
    """Marks an option that every parameter group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of every optimizer."""
    return add_hook(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of every optimizer."""
    return add_hook(_global_optimizer_post_hooks, hook)


def _use_grad_for_differentiable(step: Callable[..., Any]) -> Callable[..., Any]:
    """Run a step without recording gradients, unless the optimizer is differentiable."""

    @functools.wraps(step)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            return step(self, *args, **kwargs)

    return wrapped


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` between its hooks."""

    @functools.wraps(step)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        if _global_optimizer_pre_hooks or self._optimizer_step_pre_hooks:
            args, kwargs = _after_pre_hooks(self, args, kwargs)
        depth = _depth.value
        _depth.value = depth + 1
        try:
            result = step(*args, **kwargs)
            if _global_optimizer_post_hooks or self._optimizer_step_post_hooks:
                for hooks in (self._optimizer_step_post_hooks, _global_optimizer_post_hooks):
                    for hook in list(hooks.values()):
                        hook(self, args, kwargs)
        finally:
            _depth.value = depth
        if not depth:
            for notice in after_step:
                notice()
        return result

    wrapped.hooked = True  # type: ignore[attr-defined]
    return wrapped


def _after_pre_hooks(
    optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a step, as its pre-hooks leave them."""
    for hooks in (_global_optimizer_pre_hooks, optimizer._optimizer_step_pre_hooks):
        for hook in list(hooks.values()):
            changed = hook(optimizer, args, kwargs)
            if changed is not None:
                args, kwargs = _checked_arguments(optimizer, changed)
    return args, kwargs


def _checked_arguments(optimizer: Any, changed: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(changed, tuple) and len(changed) == 2:
        return changed
    raise RuntimeError(
        f"{type(optimizer).__name__}.step: expected its pre-hook to return None or (args, kwargs), "
        f"got {changed!r}"
    )


class Optimizer:
    """Changes the parameters of its groups by their gradients.

    Subclasses write `step`. State is kept by parameter in `state`, options by group in
    `param_groups`; options that a group leaves out come from `defaults`.
    """

    # State that is a Python number here, so that a step needs no tensor's value, and a 0-dim
    # tensor in a state dict.
    _number_states: ClassVar[frozenset[str]] = frozenset()
    # Options that checkpoints of older versions lack.
    _later_options: ClassVar[dict[str, Any]] = {}

    _optimizer_step_pre_hooks: OrderedDict[int, Hook]
    _optimizer_step_post_hooks: OrderedDict[int, Hook]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Hook]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Hook]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Hook]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._prepare()
        if isinstance(params, TensorBase):
            raise TypeError(
                f"{type(self).__name__}: expected params to be an iterable of Tensors or dicts, "
                f"got {typename(params)}; put it into a list"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError(
                f"{type(self).__name__}: expected parameters, but the optimizer got an empty "
                "parameter list; pass model.parameters() as a fresh iterator"
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(cast("dict[str, Any]", group))

    def _prepare(self) -> None:
        for name in Optimizer.__annotations__:
            if name.endswith("_hooks"):
                self.__dict__.setdefault(name, OrderedDict())
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _hooked(cls.step)  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        names = ("defaults", "state", "param_groups")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()
        self.defaults.setdefault("differentiable", False)
        for group in self.param_groups:
            for name, value in self._later_options.items():
                group.setdefault(name, value)
            for param in group["params"]:
                self._numbers_from_tensors(self.state.get(param))

    def _numbers_from_tensors(self, state: Any) -> None:
        for name in self._number_states:
            if state and name in state:
                state[name] = float(state[name])

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for index, group in enumerate(self.param_groups):
            options = [f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]
            text += f"\nParameter Group {index}\n" + "".join(options)
        return text + ")"

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters; `closure`, if given, computes the loss and the gradients."""
        raise NotImplementedError(f"{type(self).__name__}.step: expected a subclass to define it")

    def _evaluate(self, closure: Callable[[], Any] | None) -> Any:
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                history = param._history
                if history is None or history.grad is None:
                    continue
                if set_to_none:
                    history.grad = None
                    continue
                if param.grad.grad_fn is not None:
                    param.grad.detach_()
                else:
                    param.grad.requires_grad_(False)
                param.grad.zero_()

    def state_dict(self) -> StateDict:
        """The state by number of parameter, and the groups with numbers for parameters."""
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        groups, numbers = groups_to_save(self.param_groups)
        state = state_to_save(self.state, numbers, self._number_states)
        saved: StateDict = {"state": state, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            changed = hook(self, saved)
            saved = saved if changed is None else changed
        return saved

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over what `state_dict` of an optimizer with the same groups returned."""
        loaded = state_dict.copy()
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            changed = hook(self, loaded)
            loaded = loaded if changed is None else changed
        groups, params = load_groups(type(self).__name__, self.param_groups, loaded)
        state = load_state(loaded, params, self._number_states)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Optimize the parameters of one more group, with options of its own."""
        name = type(self).__name__
        if not isinstance(param_group, dict):
            raise TypeError(f"{name}: expected a parameter group to be a dict, got "
                            f"{type(param_group).__name__}")  # fmt: skip
        _spread(name, param_group)
        for param in param_group["params"]:
            self._check_param(name, param)
        for option, default in self.defaults.items():
            if default is required and option not in param_group:
                raise ValueError(f"{name}: expected every parameter group to give {option!r}")
            param_group.setdefault(option, default)
        self._check_apart(name, param_group)
        self.param_groups.append(param_group)

    def _check_param(self, name: str, param: Any) -> None:
        if not isinstance(param, TensorBase):
            raise TypeError(f"{name}: expected parameters to be Tensors, got {typename(param)}")
        given: Any = param
        if not self.defaults.get("differentiable") and not (given.is_leaf or given.retains_grad):
            raise ValueError(
                f"{name}: expected leaf tensors, got a non-leaf Tensor; optimize the tensor it was "
                "computed from, or detach it"
            )

    def _check_apart(self, name: str, param_group: dict[str, Any]) -> None:
        params = param_group["params"]
        own = {id(param) for param in params}
        if len(own) != len(params):
            warnings.warn(
                f"{name}: expected every parameter once, but a group has duplicate parameters; "
                "each step would change them several times",
                stacklevel=4,
            )
        named = "param_names" in param_group
        if any(named != ("param_names" in group) for group in self.param_groups):
            raise ValueError(f"{name}: expected all parameter groups with names or all without")
        if any(id(param) in own for group in self.param_groups for param in group["params"]):
            raise ValueError(f"{name}: some parameters appear in more than one parameter group")

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before a step; it may return other arguments."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after a step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return another."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _add(hooks: OrderedDict[int, Hook], hook: Hook, prepend: bool) -> RemovableHandle:
    handle = add_hook(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _spread(name: str, group: dict[str, Any]) -> None:
    """Make the group's parameters a list, names apart from tensors."""
    params = group["params"]
    if isinstance(params, set):
        raise TypeError(
            f"{name}: expected parameters in an ordered collection, got a set, whose order changes "
            "between runs; pass a list"
        )
    given = [params] if isinstance(params, TensorBase) else list(params)
    names = [each[0] for each in given if isinstance(each, tuple)]
    group["params"] = [each[1] if isinstance(each, tuple) else each for each in given]
    if names and len(names) != len(given):
        raise ValueError(f"{name}: expected all parameters with names or all without")
    if names:
        group["param_names"] = names
