"""Nested containers as a flat list of leaves and a `TreeSpec` that remembers the nest.

In: any Python object. Out: (leaves, spec), and back. Invariant: nothing recurses, so a nest may
be deeper than Python's stack; a spec is a flat tuple of nodes in pre-order, so comparing, hashing
and printing it are flat as well. `None` is a leaf, as in PyTorch.
"""

from collections.abc import Callable, Iterable, Iterator
from types import UnionType
from typing import Any, NamedTuple

from thunk.base.containers import (
    CONTAINERS,
    Context,
    KeyEntry,
    children_like,
    container_of,
    register_pytree_node,
)

__all__ = [
    "LeafSpec",
    "TreeSpec",
    "keystr",
    "register_pytree_node",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any
IsLeaf = Callable[[PyTree], bool] | None
KeyPath = tuple[KeyEntry, ...]


class Node(NamedTuple):
    """One node of a spec: a leaf has no kind."""

    kind: Any
    context: Context
    arity: int


LEAF = Node(None, None, 0)


class TreeSpec:
    """The shape of a nest: its nodes in pre-order. Compare with `==`; immutable and hashable."""

    __slots__ = ("nodes", "num_leaves")

    nodes: tuple[Node, ...]
    num_leaves: int

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = tuple(nodes)
        self.num_leaves = sum(1 for node in self.nodes if node.kind is None)

    @property
    def type(self) -> Any:
        """The class of the outermost container; None for a leaf."""
        return self.nodes[0].kind

    @property
    def context(self) -> Context:
        """What the outermost container keeps besides its children: keys, a maximal length."""
        return self.nodes[0].context

    @property
    def num_nodes(self) -> int:
        return len(self.nodes)

    @property
    def num_children(self) -> int:
        return self.nodes[0].arity

    def is_leaf(self) -> bool:
        return self.nodes[0].kind is None

    def children(self) -> list["TreeSpec"]:
        """The spec of each child of the outermost container."""
        found = []
        start = 1
        for _ in range(self.num_children):
            stop = start
            open_nodes = 1
            while open_nodes:
                open_nodes += self.nodes[stop].arity - 1
                stop += 1
            found.append(_spec(self.nodes[start:stop]))
            start = stop
        return found

    @property
    def children_specs(self) -> list["TreeSpec"]:
        return self.children()

    def child(self, index: int) -> "TreeSpec":
        return self.children()[index]

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The nest of this shape that holds `leaves`, in order."""
        values = list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(
                f"tree_unflatten: expected {self.num_leaves} leaves, got {len(values)}; "
                f"the spec is {self!r}"
            )
        built: list[Any] = []
        for node in reversed(self.nodes):
            if node.kind is None:
                built.append(values.pop())
                continue
            first = len(built) - node.arity
            children = built[first:]
            del built[first:]
            children.reverse()
            built.append(CONTAINERS[node.kind].join(children, node.context))
        return built.pop()

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """What `tree`, which must begin with this shape, holds where this spec has leaves."""
        found = []
        pending = [tree]
        for node in self.nodes:
            part = pending.pop()
            if node.kind is None:
                found.append(part)
            else:
                children = children_like(part, node.kind, node.context, node.arity)
                pending.extend(reversed(children))
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self.nodes == other.nodes

    def __hash__(self) -> int:
        # A context may hold keys or a factory that do not hash: kinds and arities do.
        return hash(tuple((node.kind, node.arity) for node in self.nodes))

    def __repr__(self) -> str:
        pieces: list[str] = []
        unfinished: list[int] = []
        for node in self.nodes:
            if node.kind is None:
                pieces.append("*")
            else:
                pieces.append(f"TreeSpec({node.kind.__name__}, {node.context}, [")
                if node.arity:
                    unfinished.append(node.arity)
                    continue
                pieces.append("])")
            while unfinished:
                unfinished[-1] -= 1
                if unfinished[-1]:
                    pieces.append(",\n" + "  " * len(unfinished))
                    break
                unfinished.pop()
                pieces.append("])")
        return "".join(pieces)

    def __reduce__(self) -> tuple[Any, ...]:
        return _spec, (self.nodes,)


class LeafSpec(TreeSpec):
    """The spec of a single leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__((LEAF,))


def _spec(nodes: tuple[Node, ...]) -> TreeSpec:
    return LeafSpec() if nodes == (LEAF,) else TreeSpec(nodes)


def _flatten(tree: PyTree, is_leaf: IsLeaf) -> Iterator[tuple[Node, Any]]:
    """Each node of `tree` in pre-order, with the leaf it stands for."""
    pending: list[Any] = [tree]
    # Containers whose children are still pending, innermost last: (identity, children left).
    unfinished: list[list[int]] = []
    entered: set[int] = set()
    while pending:
        part = pending.pop()
        container = None if is_leaf is not None and is_leaf(part) else container_of(part)
        if container is None:
            yield LEAF, part
        else:
            if id(part) in entered:
                raise ValueError(
                    f"tree_flatten: expected a finite tree, got a {type(part).__name__} that "
                    "contains itself; break the cycle or make it a leaf by is_leaf"
                )
            children, context = container.split(part)
            yield Node(container.kind, context, len(children)), part
            if children:
                pending.extend(reversed(children))
                unfinished.append([id(part), len(children)])
                entered.add(id(part))
                continue
        while unfinished:
            unfinished[-1][1] -= 1
            if unfinished[-1][1]:
                break
            entered.remove(unfinished.pop()[0])


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of `tree` in order, and the spec that puts them back."""
    nodes: list[Node] = []
    leaves: list[Any] = []
    for node, part in _flatten(tree, is_leaf):
        nodes.append(node)
        if node.kind is None:
            leaves.append(part)
    return leaves, _spec(tuple(nodes))


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The nest that `treespec` describes, with `leaves` in it."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten: expected a TreeSpec as second argument, got {type(treespec)}; "
            "pass the second result of tree_flatten"
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves of `tree`, one by one."""
    for node, part in _flatten(tree, is_leaf):
        if node.kind is None:
            yield part


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of `tree` in order."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The spec of `tree`."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `tree` would not be taken apart."""
    return (is_leaf is not None and is_leaf(tree)) or container_of(tree) is None


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """`tree` with each leaf replaced by `func(leaf, *what the other trees hold there)`."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten(map(func, *columns))


def tree_map_only(
    kinds: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """`tree_map` for leaves of a type, one of several types, or that satisfy a predicate."""
    if isinstance(kinds, type | tuple | UnionType):

        def wanted(leaf: Any) -> bool:
            return isinstance(leaf, kinds)

    elif callable(kinds):
        wanted = kinds
    else:
        raise TypeError(
            f"tree_map_only: expected a type, a tuple of types or a predicate, got {kinds!r}"
        )
    return tree_map(lambda leaf: func(leaf) if wanted(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Like `tree_flatten`, each leaf with the keys that lead to it."""
    nodes: list[Node] = []
    leaves: list[tuple[KeyPath, Any]] = []
    paths: list[KeyPath] = [()]
    for node, part in _flatten(tree, is_leaf):
        nodes.append(node)
        path = paths.pop()
        if node.kind is None:
            leaves.append((path, part))
        else:
            keys = CONTAINERS[node.kind].keys(part)
            paths.extend((*path, key) for key in reversed(keys))
    return leaves, _spec(tuple(nodes))


def keystr(path: KeyPath) -> str:
    """A key path as it would be written in Python: `['layers'][0].weight`."""
    return "".join(map(str, path))
