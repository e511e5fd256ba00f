"""Enters: the names of a program and what they hold. Leaves: facts, and where two sets differ.

Invariant: looking changes nothing that a program can see; flags are read before values, since a
value ends waiting.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

Facts = dict[str, Any]


def flags(library: Any, tensor: Any) -> dict[str, Any]:
    """What is known of a tensor without its values."""
    found: dict[str, Any] = {
        "shape": tuple(tensor.shape),
        "stride": steps(tensor),
        "offset": tensor.storage_offset(),
        "dtype": str(tensor.dtype).partition(".")[2],
        "requires_grad": tensor.requires_grad,
    }
    try:
        found["version"] = tensor._version
    except RuntimeError:
        found["version"] = "refused"
    try:
        leaf: Any = tensor.is_leaf
    except RuntimeError:
        leaf = "refused"
    found["leaf"] = leaf
    gradient = tensor.grad if leaf is True or (leaf is False and tensor.retains_grad) else None
    found["grad"] = None if gradient is None else tuple(gradient.shape)
    return found


def steps(tensor: Any) -> tuple[int, ...]:
    """Strides of the dimensions that take a step."""
    if not tensor.numel():
        return ()
    return tuple(stride for stride, size in zip(tensor.stride(), tensor.shape) if size > 1)


def values(library: Any, tensor: Any) -> Any:
    with library.no_grad():
        try:
            return _plain(tensor.detach().tolist())
        except RuntimeError:
            return "refused"


def _plain(value: Any) -> Any:
    """Nested lists as one flat list."""
    if not isinstance(value, list):
        return [value]
    if value and isinstance(value[0], list):
        return [each for part in value for each in _plain(part)]
    return value


def look(library: Any, space: dict[str, Any], last: bool) -> Facts:
    """Everything a user can see of every name of a program."""
    held = {name: value for name, value in space.items() if name[0] in "ta" and name[1:].isdigit()}
    tensors = {name: value for name, value in held.items() if name[0] == "t"}
    found: Facts = {name: flags(library, value) for name, value in tensors.items()}
    for name, value in tensors.items():
        found[name]["values"] = values(library, value)
        if found[name]["grad"] is not None:
            found[name]["grad values"] = values(library, value.grad)
    for name, value in held.items():
        if name[0] == "a":
            found[name] = {"values": _plain(value.tolist())}
    if last:
        found["log"] = {"values": [_entry(library, each) for each in space["log"]]}
        found["storage"] = {"sharing": _sharing(tensors)}
    return found


def _entry(library: Any, entry: Any) -> Any:
    if isinstance(entry, library.Tensor):
        return [tuple(entry.shape), *values(library, entry)]
    return entry


def _sharing(tensors: dict[str, Any]) -> dict[str, str]:
    """For every tensor, the first name that looks at the same memory."""
    first: dict[int, str] = {}
    found = {}
    for name, tensor in tensors.items():
        if tensor.numel():
            found[name] = first.setdefault(tensor.untyped_storage().data_ptr(), name)
    return found


def difference(want: Facts, got: Facts, tolerance: float, skip: frozenset[str]) -> str:
    """The first fact that differs, in words; nothing if none does."""
    if want.keys() != got.keys():
        return f"names: {sorted(want.keys() ^ got.keys())}"
    for name, facts in want.items():
        for fact, expected in facts.items():
            if fact in skip:
                continue
            found = got[name].get(fact)
            if found != expected and not close(expected, found, tolerance):
                return f"{name}.{fact}: expected {expected}, got {found}"
        if facts.keys() != got[name].keys():
            return f"{name}: facts {sorted(facts.keys() ^ got[name].keys())}"
    return ""


def close(want: Any, got: Any, tolerance: float) -> bool:
    """Equal up to rounding; nan equals nan."""
    if isinstance(want, (list, tuple)) and isinstance(got, (list, tuple)):
        if len(want) != len(got):
            return False
        scale = _largest(want)
        return all(_close(one, two, tolerance, scale) for one, two in zip(want, got))
    return _close(want, got, tolerance, _largest([want]))


def _close(want: Any, got: Any, tolerance: float, scale: float) -> bool:
    if want == got or want == "refused":
        return True
    if isinstance(want, (list, tuple)) and isinstance(got, (list, tuple)):
        return close(want, got, tolerance)
    if isinstance(want, bool) or isinstance(got, bool):
        return False
    if not isinstance(want, float) or not isinstance(got, float):
        # The bits of a float, as an integer: the last few may differ, and which a nan has.
        if type(want) is not int or type(got) is not int:
            return False
        near = abs(want) > 1e9 and abs(want - got) <= abs(want) * 1e-7
        return near or (_is_nan(want) and _is_nan(got) and bool({want, got} & _NANS))
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    return abs(want - got) <= tolerance * (1.0 + scale)


_NANS = {0x7FF8 << 48, (0x7FF8 << 48) - (1 << 63), 0x7FC0 << 16, (0x7FC0 << 16) - (1 << 31)}


def _is_nan(bits: int) -> bool:
    """Whether an integer holds the bits of a nan, of double or of single precision."""
    double = (bits & (1 << 63) - 1) > 0x7FF << 52
    return double or (-(1 << 31) <= bits < 1 << 31 and (bits & (1 << 31) - 1) > 0xFF << 23)


def _largest(numbers: Any) -> float:
    sizes = [abs(each) for each in numbers if isinstance(each, float) and math.isfinite(each)]
    return max(sizes, default=0.0)


def spread(one: Facts, two: Facts) -> dict[str, float]:
    """How far the values of each name moved between two runs; infinite where facts differ."""
    found: dict[str, float] = {}
    for name, facts in one.items():
        moved = 0.0
        for fact, first in facts.items():
            second = two.get(name, {}).get(fact)
            if second != first:
                moved = max(moved, _moved(first, second))
        found[name] = moved
    return found


def _moved(first: Any, second: Any) -> float:
    one, two = _numbers(first), _numbers(second)
    if one is None or two is None or one.shape != two.shape:
        return math.inf
    with numpy.errstate(all="ignore"):
        distance = numpy.abs(one - two)
    distance[numpy.isnan(one) & numpy.isnan(two)] = 0
    distance[one == two] = 0
    if not numpy.isfinite(distance).all():
        return math.inf
    scale = 1.0 + float(numpy.abs(one[numpy.isfinite(one)]).max(initial=0.0))
    return float(distance.max(initial=0.0)) / scale


def _numbers(value: Any) -> Any:
    flat: list[float] = []
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, (list, tuple)):
            stack.extend(reversed(each))
        elif isinstance(each, (int, float)):
            flat.append(float(each))
        else:
            return None
    return numpy.array(flat)
