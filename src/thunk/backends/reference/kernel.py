"""Enters: a primitive's call on tensors. Leaves: its results, by the primitive's NumPy rule.

Invariant: a rule sees arrays and the result's spec, never tensors; what it returns has the spec's
shape and is fresh memory or copied here.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy

from thunk.base.config import config
from thunk.dispatch.infer import infer
from thunk.dispatch.keys import DispatchKey, KeySet
from thunk.dispatch.registry import registry
from thunk.ir.opdef import OpDef
from thunk.ops import families
from thunk.ops.registry import find_op
from thunk.runtime.storage import Storage, array_of
from thunk.runtime.tensors import new_tensor, tensor_from_array, tensor_like
from thunk.types.device import META
from thunk.types.dtype import bfloat16, float16
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase

Rule = Callable[..., Any]
rules: dict[str, Rule] = {}
DECLARED = families.FAMILIES  # rules attach to declarations, so these come first

_HALF = frozenset({bfloat16.numpy, float16.numpy})


def rule(*names: str, half: str = "native") -> Callable[[Rule], Rule]:
    """Register the NumPy rule of the primitives `names` ("add.Tensor").

    The rule is called as `rule(spec, *arguments)`: `spec` is the result's spec (a tuple for several
    results, None for data-dependent shapes); tensors arrive as arrays. `half="float32"` widens
    half precision operands first, for NumPy functions that do not know them.
    """

    def add(function: Rule) -> Rule:
        kept = _widening(function) if half == "float32" else function
        for name in names:
            full_name = f"aten::{name}"
            op = find_op(full_name)
            if op is None:
                raise RuntimeError(f"{full_name}: expected a declared operator, got none")
            rules[full_name] = kept
            registry.register(
                full_name, DispatchKey.CPU, reference_kernel, where=_where(function), boxed=True
            )
        return function

    return add


def reference_kernel(op: OpDef, keys: KeySet, args: tuple[Any, ...]) -> Any:
    """Infer the result's spec, run the rule, wrap what it returns."""
    spec = None if op.dynamic_shape else infer(op, args)
    if op.dynamic_shape and op.spec is not None:
        infer(op, args)
    arrays = [arrays_in(value) for value in args]
    with numpy.errstate(all="ignore"):
        try:
            result = rules[op.full_name](spec, *arrays)
        except Exception as error:
            _expect_declared(op, error)
            raise
    return wrap(op, result, spec)


def _expect_declared(op: OpDef, error: Exception) -> None:
    """What the shape rule let through fails for its values: lazy execution must know that.

    Random operators and those of unknown shape are never delayed.
    """
    never_late = op.raises_on_data or op.dynamic_shape or op.random
    if config.verify and not never_late and not isinstance(error, MemoryError):
        raise AssertionError(
            f"{op.full_name}: expected raises_on_data to name what its rule looks at, since that "
            f"raised {type(error).__name__}: {error}"
        ) from error


def meta_kernel(op: OpDef, keys: KeySet, args: tuple[Any, ...]) -> Any:
    """Results without values: the shape rule alone."""
    if op.dynamic_shape and not _tells_its_shape(op, args):
        raise NotImplementedError(
            f"{op.full_name}: expected tensors with values, since its result's shape depends on "
            "them, got meta tensors"
        )
    return _without_values(infer(op, args))


def _tells_its_shape(op: OpDef, args: tuple[Any, ...]) -> bool:
    """Whether the call says what depends on values, or only what nobody asked for does."""
    sizes = zip(op.schema.arguments, args, strict=True)
    told = any(each.name == "output_size" and size is not None for each, size in sizes)
    return told or op.name == "_linalg_lstsq"


def _without_values(spec: Any) -> Any:
    if isinstance(spec, TensorSpec):
        located = TensorSpec(spec.shape, spec.dtype, spec.strides, spec.offset, META)
        return new_tensor(Storage(None), located)
    if isinstance(spec, (tuple, list)):
        return type(spec)([_without_values(each) for each in spec])
    return spec


def arrays_in(value: Any) -> Any:
    """`value` with every tensor replaced by its array, lists included."""
    if isinstance(value, TensorBase):
        return array_of(value._storage, value._spec)
    if isinstance(value, (list, tuple)) and any(
        isinstance(each, (TensorBase, list, tuple)) for each in value
    ):
        return [arrays_in(each) for each in value]
    return value


def wrap(op: OpDef, result: Any, spec: Any) -> Any:
    """Tensors for a rule's arrays; None, a result nobody asked for, stays None."""
    if result is None:
        return None
    if isinstance(result, (tuple, list)):
        specs = [None] * len(result) if spec is None else list(spec)
        return tuple([wrap(op, each, one) for each, one in zip(result, specs, strict=True)])
    if isinstance(result, (bool, int, float, str)) and not isinstance(spec, TensorSpec):
        return result
    array = numpy.asarray(result)
    if spec is None:
        return tensor_from_array(array)
    if config.verify and array.shape != spec.shape:
        raise AssertionError(
            f"{op.full_name}: expected the rule to return shape {spec.shape}, got {array.shape}"
        )
    if array.dtype != spec.dtype.numpy:
        array = convert(array, spec.dtype.numpy)
    return tensor_like(array, spec)


def convert(array: numpy.ndarray, target: numpy.dtype) -> numpy.ndarray:
    """`array` cast as PyTorch casts: complex to real drops the imaginary part without a warning."""
    if array.dtype.kind == "c" and target.kind != "c":
        if target.kind == "b":
            result: numpy.ndarray = array != 0
            return result
        array = array.real
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return array.astype(target)


def _widening(function: Rule) -> Rule:
    @functools.wraps(function)
    def widened(spec: Any, *args: Any) -> Any:
        return function(spec, *[_widen(value) for value in args])

    return widened


def _widen(value: Any) -> Any:
    if isinstance(value, numpy.ndarray) and value.dtype in _HALF:
        return value.astype(numpy.float32)
    if isinstance(value, list):
        return [_widen(each) for each in value]
    return value


def _where(function: Rule) -> str:
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


registry.register_fallback(DispatchKey.Meta, meta_kernel, where=_where(meta_kernel), boxed=True)
