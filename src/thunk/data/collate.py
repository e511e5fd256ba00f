"""Enters: samples. Leaves: a batch: tensors with one more dimension in the samples' containers.

Invariant: what a batch becomes depends on its first sample's type alone; `default_collate_fn_map`
is consulted first, so that users can add types or change how a type is collated.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy

from thunk.data.gather import stacked
from thunk.ops.registry import t
from thunk.tensor.creation import as_tensor, tensor
from thunk.tensor.tensor import Tensor
from thunk.types.dtype import float64
from thunk.types.layout import strided
from thunk.types.tensor_base import TensorBase

Rule = Callable[..., Any]
Rules = dict[Any, Rule]

np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def _is_named_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _like_mapping(model: Mapping[Any, Any], entries: dict[Any, Any]) -> Any:
    """`entries` in a mapping of the model's type, with the model's other attributes."""
    try:
        if isinstance(model, MutableMapping):
            made = copy.copy(model)
            made.update(entries)
            return made
        return type(model)(entries)  # type: ignore[call-arg]  # a type that takes no mapping: below
    except TypeError:
        return entries


def _like_sequence(model: Sequence[Any], items: list[Any]) -> Any:
    """`items` in a sequence of the model's type, with the model's other attributes."""
    try:
        if isinstance(model, MutableSequence):
            made = copy.copy(model)
            for place, item in enumerate(items):
                made[place] = item
            return made
        return type(model)(items)  # type: ignore[call-arg]  # a type that takes no list: below
    except TypeError:
        return items


def _rule_for(sample: Any, rules: Rules | None) -> Rule | None:
    if not rules:
        return None
    exact = rules.get(type(sample))
    if exact is not None:
        return exact
    return next((rule for kind, rule in rules.items() if isinstance(sample, kind)), None)


def collate(batch: Any, *, collate_fn_map: Rules | None = None) -> Any:
    """One batch of `batch`'s samples, by the rule of the first one's type or as its container."""
    first = batch[0]
    rule = _rule_for(first, collate_fn_map)
    if rule is not None:
        return rule(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        entries = {
            key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map)
            for key in first
        }
        return _like_mapping(first, entries)
    if not isinstance(first, Sequence):
        raise TypeError(default_collate_err_msg_format.format(type(first)))
    if not _is_named_tuple(first) and any(len(sample) != len(first) for sample in batch):
        raise RuntimeError(
            "default_collate: each element in list of batch should be of equal size, got "
            f"{sorted({len(sample) for sample in batch})}; pass a collate_fn that pads"
        )
    columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
    if _is_named_tuple(first):
        return type(first)(*columns)
    return columns if isinstance(first, tuple) else _like_sequence(first, columns)


def collate_tensor_fn(batch: Any, *, collate_fn_map: Rules | None = None) -> Any:
    """Tensors stacked along a new first dimension."""
    if batch[0].layout is not strided:
        raise RuntimeError(
            "default_collate: Batches of sparse tensors are not currently supported by the default "
            "collate_fn; pass a collate_fn"
        )
    made = stacked(batch)
    return t.stack(list(batch), 0) if made is None else made


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Rules | None = None) -> Any:
    """Arrays as tensors, collated by the rule for tensors."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str) is not None:
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Rules | None = None) -> Any:
    """NumPy numbers as a tensor of their dtype."""
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: Rules | None = None) -> Any:
    """Python floats as a tensor of doubles."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Rules | None = None) -> Any:
    """Python ints (and bools) as a tensor."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Rules | None = None) -> Any:
    """Strings stay as they are."""
    return batch


default_collate_fn_map: Rules = {
    Tensor: collate_tensor_fn,
    numpy.ndarray: collate_numpy_array_fn,
    (numpy.bool_, numpy.number, numpy.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
_BUILT_IN = dict(default_collate_fn_map)


def rules_are_built_in() -> bool:
    """Whether nobody changed `default_collate_fn_map`."""
    return default_collate_fn_map == _BUILT_IN


def default_collate(batch: Any) -> Any:
    """The batch a DataLoader makes of samples unless it is given a `collate_fn`.

    Tensors and arrays are stacked, numbers become a tensor, strings stay; mappings, sequences and
    named tuples are collated entry by entry (tuples become lists, as in PyTorch).
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data: Any) -> Any:
    """Arrays and NumPy numbers in `data` as tensors: what a loader without batches does."""
    if isinstance(data, TensorBase):
        return data
    if isinstance(data, numpy.ndarray):
        return data if np_str_obj_array_pattern.search(data.dtype.str) else as_tensor(data)
    if isinstance(data, numpy.generic) and not isinstance(data, numpy.character):
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, str | bytes) or not isinstance(data, Sequence):
        return data
    items = [default_convert(item) for item in data]
    if _is_named_tuple(data):
        return type(data)(*items)
    return items if isinstance(data, tuple) else _like_sequence(data, items)
