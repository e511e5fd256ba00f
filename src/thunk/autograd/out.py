"""Enters: a call with `out=`. Leaves: the caller's tensors, resized if need be, with the results.

Invariant: an `out=` variant is its functional form followed by a checked copy, and never records.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

from thunk.autograd.meta import requires_grad
from thunk.autograd.overlap import SHARED, refuse_self_overlap
from thunk.dispatch.call import call, tensors_in
from thunk.dispatch.keys import KeySet
from thunk.dispatch.state import state
from thunk.ir.opdef import OpDef
from thunk.ops.copy.resizing import give_shape
from thunk.runtime.storage import array_of
from thunk.types.promotion import can_cast
from thunk.types.spec import contiguous_strides
from thunk.types.tensor_base import TensorBase


def out_kernel(op: OpDef, keys: KeySet, args: tuple[Any, ...]) -> Any:
    """Run `op.functional` and write its results into the `out` arguments."""
    functional = op.functional
    assert functional is not None
    names = [argument.name for argument in op.schema.arguments]
    given = dict(zip(names, args, strict=True))
    outs: list[Any] = []
    for argument in op.schema.outs:
        value = given[argument.name]
        outs.extend(value if argument.type.is_list else (value,))
    if state.grad_enabled and any(requires_grad(each) for each in tensors_in(args)):
        raise RuntimeError(
            f"{op.name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad; drop out= or use no_grad()"
        )
    plain = tuple([given[argument.name] for argument in functional.schema.arguments])
    result = call(functional, _with_out_dtype(functional, plain, outs))
    results = result if isinstance(result, (tuple, list)) else (result,)
    if len(outs) != len(results):
        raise RuntimeError(
            f"{op.name}: expected {len(results)} out tensors, got {len(outs)}; pass one a result"
        )
    if "apart" in functional.variants:
        _refuse_shared(op.name, outs, results, plain)
    for target, value in zip(outs, results, strict=True):
        if "exact" in functional.variants and target._spec.dtype is not value._spec.dtype:
            raise RuntimeError(
                f"{op.name}: expected out tensor to have dtype {value._spec.dtype!r}, "
                f"got {target._spec.dtype!r}"
            )
        kind = TypeError if "typed" in functional.variants else RuntimeError
        write_out(op.name, target, value, kind)
    return outs[0] if len(outs) == 1 else type(result)(outs)


def _refuse_shared(name: str, outs: list[Any], results: Any, inputs: tuple[Any, ...]) -> None:
    """No element of an input may lie where a target will be written, resized if need be."""
    pairs = zip(outs, results, strict=True)
    for (target, result), source in itertools.product(pairs, tensors_in(inputs)):
        have, want, other = target._spec, result._spec, source._spec
        if target is source and want.numel:
            raise RuntimeError(f"{name}: {SHARED}")
        if target._storage is not source._storage or not (want.numel and other.numel):
            continue
        end = have.extent() if have.shape == want.shape else have.offset + want.numel
        if have.offset < other.extent() and other.offset < end:
            raise RuntimeError(f"{name}: {SHARED}")


def _with_out_dtype(op: OpDef, args: tuple[Any, ...], outs: list[Any]) -> tuple[Any, ...]:
    # Without a dtype of their own, factories and reductions compute in that of `out`.
    values = list(args)
    is_factory = not any(each.type.is_tensor for each in op.schema.arguments)
    for index, argument in enumerate(op.schema.arguments):
        own = argument.type.base == "ScalarType" and argument.keyword_only
        if own and (values[index] is None or argument.default is not None):
            values[index] = outs[0]._spec.dtype
        elif own and is_factory and values[index] is not outs[0]._spec.dtype:
            raise RuntimeError(
                f"{op.name}: expected out of {values[index]!r}, got {outs[0]._spec.dtype!r}: "
                "dtype does not match dtype of out parameter; drop one of them"
            )
        if argument.type.base == "Device" and values[index] is None:
            values[index] = outs[0]._spec.device
    return tuple(values)


def write_out(
    name: str, target: TensorBase, value: Any, uncastable: type[Exception] = RuntimeError
) -> None:
    """Copy `value` into `target` under PyTorch's rules for `out=`."""
    have, want = target._spec, value._spec
    if have.device != want.device:
        raise RuntimeError(
            f"{name}: expected out tensor to be on device {want.device}, got {have.device}"
        )
    if not can_cast(want.dtype, have.dtype):
        raise uncastable(
            f"{name}: result type {want.dtype!r} can't be cast to the desired output type "
            f"{have.dtype!r}; pass an out tensor of a wider dtype"
        )
    refuse_self_overlap(name, have)
    if have.shape != want.shape:
        if have.numel:
            warnings.warn(
                f"{name}: an output with one or more elements was resized since it had shape "
                f"{list(have.shape)}, which does not match the required output shape "
                f"{list(want.shape)}; pass out of the right shape, or resize_(0) it first",
                UserWarning,
                stacklevel=2,
            )
        give_shape(target, want.shape, contiguous_strides(want.shape))
    if target._storage.writable() is not None and target._spec.numel:
        source = value if want.dtype is have.dtype else value.to(have.dtype)
        array_of(target._storage, target._spec)[...] = array_of(source._storage, source._spec)
    target._versions.value += 1
