"""Enters: a module, the name of a tensor, a module that computes it. Leaves: the tensor, computed.

Invariant: a parametrised module has a class of its own with a property for each such tensor; what
the tensors are computed from lies in `module.parametrizations`.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

from thunk.dispatch.state import no_grad_recording
from thunk.nn.modules.container import ModuleDict
from thunk.nn.modules.module import Module
from thunk.nn.parameter import Parameter
from thunk.nn.utils.parametrization_list import ParametrizationList, register_tensor, replace_data
from thunk.types.tensor_base import TensorBase

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization",
    "remove_parametrizations", "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]  # fmt: skip


class _Cache:
    """Computed tensors, while some `cached` block is open."""

    def __init__(self) -> None:
        self.open_blocks = 0
        self.tensors: dict[tuple[int, str], Any] = {}


_cache = _Cache()


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Inside the block every parametrised tensor is computed once."""
    _cache.open_blocks += 1
    try:
        yield
    finally:
        _cache.open_blocks -= 1
        if not _cache.open_blocks:
            _cache.tensors.clear()


def _deepcopied(self: Any, memo: dict[int, Any]) -> Any:
    found = memo.get(id(self))
    if found is None:
        # A class of its own: removing a parametrization takes the property off the class.
        found = memo[id(self)] = object.__new__(_twin(type(self)))
        Module.__setstate__(found, copy.deepcopy(Module.__getstate__(self), memo))
    return found


def _twin(cls: type) -> type:
    skipped = ("__dict__", "__weakref__")
    attributes = {name: value for name, value in vars(cls).items() if name not in skipped}
    return type(cls.__name__, cls.__bases__, attributes)


def _refuse_state(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(); save that, "
        "register the parametrizations again and load it"
    )


def _give_own_class(module: Any) -> None:
    cls: Any = type(module)
    attributes: dict[str, Any] = {"__getstate__": _refuse_state}
    if not hasattr(cls, "__deepcopy__"):
        attributes["__deepcopy__"] = _deepcopied
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), attributes)


def _add_property(module: Any, name: str) -> None:
    def get(self: Any) -> Any:
        parametrization = self.parametrizations[name]
        if not _cache.open_blocks:
            return parametrization()
        key = (id(self), name)
        if key not in _cache.tensors:
            _cache.tensors[key] = parametrization()
        return _cache.tensors[key]

    def set_(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, set_))


def register_parametrization(
    module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False
) -> Any:
    """From now on `module.tensor_name` is what `parametrization` makes of the original."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_fits(module, tensor_name, parametrization)
        chain = module.parametrizations[tensor_name]
        chain.append(parametrization)
        chain.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        chain = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _give_own_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = chain
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_fits(module: Any, name: str, parametrization: Any) -> None:
    """A further parametrization, and its inverse, must keep dtype and shape."""
    before = getattr(module, name)
    after = parametrization(before)
    subject = "Registering a parametrization may not change the {} of the tensor, unless the "
    _check_alike(
        before, after, "A parametrization must return a tensor. Got {}.",
        subject + "`unsafe` flag is enabled.", f"parametrization(module.{name})", name,
    )  # fmt: skip
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    _check_alike(
        before, inverse, "parametrization.right_inverse must return a tensor. Got: {}",
        "The tensor returned by parametrization.right_inverse must have the same {} as "
        f"module.{name}, unless the `unsafe` flag is enabled.", "returned", name,
    )  # fmt: skip


def _check_alike(
    before: Any, after: Any, no_tensor: str, differs: str, called: str, name: str
) -> None:
    if not isinstance(after, TensorBase):
        raise ValueError(no_tensor.format(type(after).__name__))
    for fact in ("dtype", "shape"):
        old, new = getattr(before, fact), getattr(after, fact)
        if old != new:
            shown = f"{called} {fact}" if called == "returned" else f"{called}.{fact}"
            raise ValueError(
                f"{differs.format(fact)}\nmodule.{name}.{fact}: {old}\n{shown}: {new}"
            )


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether the module, or one tensor of it, is parametrised."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(
    module: Any, tensor_name: str, leave_parametrized: bool = True
) -> Any:
    """Make the tensor an ordinary one again: the computed one, or the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    chain = module.parametrizations[tensor_name]
    if chain.is_tensor:
        original = chain.original
        if leave_parametrized:
            with no_grad_recording():
                replace_data(original, getattr(module, tensor_name))
    elif leave_parametrized:
        computed = getattr(module, tensor_name)
        original = Parameter(computed) if computed.requires_grad else computed
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    register_tensor(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type:
    """The module's class, as it was before tensors were parametrised."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Any, to_module: Any, tensor_name: str | None = None
) -> Any:
    """Parametrise tensors of `to_module` as those of `from_module`, and share the originals."""
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for original in source.original_names():
            setattr(target, original, getattr(source, original))
    return to_module
