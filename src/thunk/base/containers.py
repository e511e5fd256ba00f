"""Which Python types are containers, and how each comes apart and together again.

In: a class with its two functions. Out: a `Container` for any object, or none for a leaf.
Invariant: `join(split(x)[0], split(x)[1])` equals `x`; exact types only, so a subclass of list is
a leaf until it is registered.
"""

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

Context = Any
Split = Callable[[Any], tuple[list[Any], Context]]
Join = Callable[[Iterable[Any], Context], Any]
SplitWithKeys = Callable[[Any], tuple[list[tuple[Any, Any]], Context]]


@dataclass(frozen=True)
class SequenceKey:
    """A step into a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """A step into a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """A step into a field."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, holder: Any) -> Any:
        return getattr(holder, self.name)


KeyEntry = SequenceKey | MappingKey | GetAttrKey


@dataclass(frozen=True)
class Container:
    """How one type comes apart (`split`), together (`join`) and what leads to each child."""

    kind: Any
    split: Split
    join: Join
    split_with_keys: SplitWithKeys | None

    def keys(self, tree: Any) -> list[Any]:
        """The key entry of each child of `tree`."""
        if self.split_with_keys is None:
            raise ValueError(
                f"pytree: expected a type with key paths, got {self.kind}; "
                "register it with flatten_with_keys_fn"
            )
        return [key for key, _ in self.split_with_keys(tree)[0]]


CONTAINERS: dict[Any, Container] = {}
DICTIONARIES = frozenset({dict, OrderedDict, defaultdict})


def register_pytree_node(
    cls: type,
    flatten_fn: Split,
    unflatten_fn: Join,
    *,
    flatten_with_keys_fn: SplitWithKeys | None = None,
) -> None:
    """Make `cls` a container: its instances are taken apart instead of being leaves."""
    if cls in CONTAINERS:
        raise ValueError(f"{cls} is already registered as pytree node.")
    CONTAINERS[cls] = Container(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def container_of(tree: Any) -> Container | None:
    """The container that `tree` is, or None for a leaf."""
    cls = type(tree)
    found = CONTAINERS.get(cls)
    if found is None and isinstance(tree, tuple) and is_namedtuple_class(cls):
        # The function itself is the kind of every class that it makes, as in PyTorch.
        return CONTAINERS[namedtuple]
    return found


def children_like(tree: Any, kind: Any, context: Context, arity: int) -> list[Any]:
    """The children of `tree`, which must be a container as described by the other arguments.

    Dictionary types stand in for each other, matched by key; a deque's maximal length and a
    defaultdict's factory may differ.
    """
    container = container_of(tree)
    found = None if container is None else container.kind
    if kind in DICTIONARIES and found in DICTIONARIES:
        return _values_in_order(tree, context[1] if kind is defaultdict else context)
    if container is None or found != kind:
        raise _mismatch("a node of type", kind, type(tree))
    children, own_context = container.split(tree)
    if len(children) != arity:
        raise _mismatch("a number of children equal to", arity, len(children))
    if kind is not deque and own_context != context:
        raise _mismatch("the context", repr(context), repr(own_context))
    return children


def _values_in_order(tree: Any, keys: list[Any]) -> list[Any]:
    if tree.keys() != set(keys):
        raise _mismatch("the keys", keys, list(tree))
    return [tree[key] for key in keys]


def _mismatch(what: str, want: object, got: object) -> ValueError:
    return ValueError(
        f"tree_map: expected {what} {want}, got {got}; the trees must have the same structure"
    )


def is_namedtuple_class(cls: type) -> bool:
    """Whether `cls` came from namedtuple: a tuple with a tuple of field names."""
    fields = getattr(cls, "_fields", None)
    return (
        issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(isinstance(field, str) for field in fields)
        and callable(getattr(cls, "_make", None))
    )


def _split_sequence(tree: Any) -> tuple[list[Any], Context]:
    return list(tree), None


def _key_sequence(tree: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(SequenceKey(index), child) for index, child in enumerate(tree)], None


def _split_dict(tree: Any) -> tuple[list[Any], Context]:
    return list(tree.values()), list(tree)


def _key_dict(tree: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(MappingKey(key), child) for key, child in tree.items()], list(tree)


def _split_defaultdict(tree: Any) -> tuple[list[Any], Context]:
    return list(tree.values()), [tree.default_factory, list(tree)]


def _key_defaultdict(tree: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return _key_dict(tree)[0], [tree.default_factory, list(tree)]


def _join_defaultdict(children: Iterable[Any], context: Context) -> Any:
    factory, keys = context
    return defaultdict(factory, zip(keys, children, strict=True))


def _split_deque(tree: Any) -> tuple[list[Any], Context]:
    return list(tree), tree.maxlen


def _key_deque(tree: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return _key_sequence(tree)[0], tree.maxlen


def _split_namedtuple(tree: Any) -> tuple[list[Any], Context]:
    return list(tree), type(tree)


def _key_namedtuple(tree: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(GetAttrKey(name), getattr(tree, name)) for name in tree._fields], type(tree)


def _register_standard() -> None:
    def join_dict(cls: type) -> Join:
        return lambda children, keys: cls(zip(keys, children, strict=True))

    for container in (
        Container(tuple, _split_sequence, lambda children, _: tuple(children), _key_sequence),
        Container(list, _split_sequence, lambda children, _: list(children), _key_sequence),
        Container(dict, _split_dict, join_dict(dict), _key_dict),
        Container(OrderedDict, _split_dict, join_dict(OrderedDict), _key_dict),
        Container(defaultdict, _split_defaultdict, _join_defaultdict, _key_defaultdict),
        Container(deque, _split_deque, lambda children, size: deque(children, size), _key_deque),
        Container(
            namedtuple,
            _split_namedtuple,
            lambda children, cls: cls._make(children),
            _key_namedtuple,
        ),
    ):
        CONTAINERS[container.kind] = container


_register_standard()
