"""What several files of layers share: one number for each dimension, and names of state dicts.

Enters: arguments as users write them. Leaves: tuples of one value a dimension. Invariant: a
collection is taken as it is, whatever its length; operators check it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from thunk.nn.functional.arguments import pair, single, spread, triple

__all__ = ["consume_prefix_in_state_dict_if_present"]

_single, _pair, _triple = single, pair, triple


def _quadruple(value: Any) -> tuple[Any, ...]:
    return spread(value, 4)


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes a value a tuple of `n`."""

    def parse(value: Any) -> tuple[Any, ...]:
        return spread(value, n)

    parse.__name__ = name
    return parse


def _reverse_repeat_tuple(values: Iterable[Any], n: int) -> tuple[Any, ...]:
    """The values from last to first, each `n` times: paddings as `pad` takes them."""
    return tuple(value for value in reversed(tuple(values)) for _ in range(n))


def at_home(module: str, *classes: type) -> None:
    """Let classes say that they come from `module`, which is where users and pickles find them."""
    for each in classes:
        each.__module__ = module


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take `prefix` off the names of a state dict that begin with it, in place."""
    _strip(state_dict, prefix)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        # The metadata of the module itself stands under the prefix without its dot.
        bare = prefix.replace(".", "")
        if bare and bare in metadata:
            metadata[""] = metadata.pop(bare)
        _strip(metadata, prefix)


def _strip(named: dict[str, Any], prefix: str) -> None:
    for name in list(named):
        if name and name.startswith(prefix):
            named[name[len(prefix) :]] = named.pop(name)
