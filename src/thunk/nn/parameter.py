"""Enters: tensors. Leaves: parameters and buffers, which modules register when they are assigned.

Invariant: a parameter is a leaf; what was computed from it is a plain tensor. An uninitialised one
has a dtype and a device but no shape, and refuses everything that would need one.
"""

from __future__ import annotations

from typing import Any, NoReturn

from thunk.autograd import api
from thunk.dispatch.hot import fast_kinds
from thunk.dispatch.state import no_grad_recording
from thunk.ops.registry import t
from thunk.runtime.tensors import empty_tensor, new_tensor
from thunk.tensor.tensor import Tensor, TensorType
from thunk.types.device import device as device_type
from thunk.types.device import get_default_device
from thunk.types.promotion import get_default_dtype
from thunk.types.spec import TensorSpec, make_spec
from thunk.types.tensor_base import TensorBase

_raw_spec: Any = TensorBase.__dict__["_spec"]


class _ParameterMeta(TensorType):
    """Tensors of other classes are parameters once they are marked `_is_param`."""

    def __instancecheck__(cls, instance: object) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and _is_marked(instance, "_is_param")


class _BufferMeta(TensorType):
    """Every tensor that is marked `_is_buffer` is a buffer."""

    def __instancecheck__(cls, instance: object) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Buffer and _is_marked(instance, "_is_buffer")


def _is_marked(instance: object, mark: str) -> bool:
    return isinstance(instance, TensorBase) and mark in instance.__dict__


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module registers as its parameter when it is assigned to an attribute."""

    __slots__ = ()

    _is_param = True

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        source = t.empty((0,)) if data is None else data
        if type(source) is Tensor or isinstance(source, Parameter) or cls is not Parameter:
            return Tensor._make_subclass(cls, source, requires_grad)
        marked = source.detach()
        if type(marked) is not type(source):
            marked = marked.as_subclass(type(source))
        marked.requires_grad_(requires_grad)
        marked._is_param = True
        return marked

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied = memo.get(id(self))
        if copied is None:
            with no_grad_recording():
                values = self.data.clone()
            copied = memo[id(self)] = type(self)(values, self.requires_grad)
        return copied


fast_kinds.add(Parameter)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module registers as its buffer when it is assigned to an attribute."""

    __slots__ = ()

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        source = t.empty((0,)) if data is None else data
        marked = source.detach().requires_grad_(source.requires_grad)
        marked.persistent = persistent
        marked._is_buffer = True
        return marked


class UninitializedTensorMixin(Tensor):
    """What parameters and buffers of unknown shape can do: be converted, moved, materialised."""

    __slots__ = ()

    cls_to_become: Any = Tensor

    @property
    def _spec(self) -> TensorSpec:
        raise ValueError(
            f"Attempted to use an uninitialized parameter: expected a tensor with a shape, got "
            f"<{type(self).__name__}>; call `forward` of its lazy module with a dummy batch first, "
            "or materialize it"
        )

    @_spec.setter
    def _spec(self, spec: TensorSpec) -> None:
        _raw_spec.__set__(self, spec)

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or tensor of `shape`; the object stays the same."""
        mine: TensorSpec = _raw_spec.__get__(self)
        tensor: Any = self
        where = mine.device if device is None else device
        values = _memory(shape, mine.dtype if dtype is None else dtype, where)
        tensor.__class__ = self.cls_to_become
        tensor.data = values

    @property
    def shape(self) -> NoReturn:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def share_memory_(self) -> NoReturn:
        """Refused: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    @property
    def data(self) -> Any:
        return new_tensor(self._storage, _raw_spec.__get__(self))

    @data.setter
    def data(self, value: Any) -> None:
        self._storage = value._storage
        _raw_spec.__set__(self, value._spec)
        self._node = None

    def copy_(self, other: Any, non_blocking: bool = False) -> Any:
        """Only another uninitialised tensor fits, and nothing needs copying then."""
        if not isinstance(other, UninitializedTensorMixin):
            self.data.copy_(other)
        return self

    def detach(self) -> Any:
        """Itself: there is no value a gradient could flow from."""
        return self

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        spec: TensorSpec = _raw_spec.__get__(self)
        tensor: Any = self
        return type(self), (tensor.requires_grad, spec.device, spec.dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied = memo.get(id(self))
        if copied is None:
            make, args = self.__reduce_ex__(4)
            copied = memo[id(self)] = make(*args)
            copied.__dict__.update(self.__dict__)
        return copied


def _through_data(name: str) -> Any:
    """A method that does what it does to the empty tensor behind an uninitialised one."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.data, name)(*args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"`{name}` of the empty tensor that knows dtype and device."
    return method


def _fact(name: str) -> Any:
    return lambda self: getattr(self.data, name)


for _name in (
    "size", "is_complex", "is_floating_point", "half", "float", "double", "bfloat16", "char",
    "short", "int", "long", "cpu", "cuda", "to", "type", "get_device",
):  # fmt: skip
    setattr(UninitializedTensorMixin, _name, _through_data(_name))
for _name in ("device", "dtype", "is_meta", "is_cpu", "layout", "ndim"):
    setattr(UninitializedTensorMixin, _name, property(_fact(_name), doc=f"Known: `{_name}`."))


def is_lazy(param: Any) -> bool:
    """Whether `param` is an uninitialised parameter or buffer."""
    return isinstance(param, UninitializedTensorMixin)


def _memory(shape: Any, dtype: Any, device: Any) -> Any:
    """A tensor with memory but no values: nothing is recorded, since nothing is computed."""
    where = get_default_device() if device is None else device_type(device)
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    spec = make_spec(sizes, get_default_dtype() if dtype is None else dtype, where)
    return empty_tensor(spec)


def _without_shape(cls: Any, requires_grad: bool, device: Any, dtype: Any) -> Any:
    made = _memory((0,), dtype, device)
    if requires_grad:
        api.set_requires_grad(made, True)
    made.__class__ = cls
    return made


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet."""

    __slots__ = ()

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _without_shape(cls, requires_grad, device, dtype)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet."""

    __slots__ = ()

    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None,
        persistent: bool = True,
    ) -> Any:  # fmt: skip
        made = _without_shape(cls, requires_grad, device, dtype)
        made.persistent = persistent
        made._is_buffer = True
        return made
