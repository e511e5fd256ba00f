"""Pytrees: a nest comes apart and together again, at any depth, and mismatches are named."""

import pickle
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thunk.base import containers
from thunk.base.containers import GetAttrKey, MappingKey, SequenceKey
from thunk.base.pytree import (
    LeafSpec,
    TreeSpec,
    keystr,
    register_pytree_node,
    tree_flatten,
    tree_flatten_with_path,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_map,
    tree_map_only,
    tree_structure,
    tree_unflatten,
)

DEEP = 50_000


class Point(NamedTuple):
    x: Any
    y: Any


class Box:
    """A type that is a leaf until it is registered."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner


def nests(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.lists(inner, max_size=3).map(tuple)
            | st.dictionaries(st.text(max_size=2), inner, max_size=3)
            | st.dictionaries(st.integers(), inner, max_size=3).map(OrderedDict)
            | st.tuples(inner, inner).map(lambda pair: Point(*pair))
            | st.lists(inner, max_size=3).map(lambda items: deque(items, maxlen=5))
        ),
        max_leaves=12,
    )


def nested_list(depth: int) -> Any:
    tree: Any = 7
    for _ in range(depth):
        tree = [tree]
    return tree


@given(nests(st.integers() | st.none()))
def test_unflatten_reverses_flatten(tree: Any) -> None:
    leaves, spec = tree_flatten(tree)
    assert tree_unflatten(leaves, spec) == tree
    assert spec.num_leaves == len(leaves)
    assert list(tree_iter(tree)) == tree_leaves(tree) == leaves


@given(nests(st.integers()), nests(st.integers()))
def test_specs_are_equal_exactly_when_shapes_are(first: Any, second: Any) -> None:
    blank_first, blank_second = (tree_map(lambda _: None, tree) for tree in (first, second))
    same = repr(blank_first) == repr(blank_second)
    assert (tree_structure(first) == tree_structure(second)) is same
    if same:
        assert hash(tree_structure(first)) == hash(tree_structure(second))


@given(nests(st.integers()))
def test_children_of_a_spec_cover_it(tree: Any) -> None:
    spec = tree_structure(tree)
    children = spec.children()
    assert len(children) == spec.num_children
    assert sum(child.num_nodes for child in children) == spec.num_nodes - 1
    assert all(isinstance(child, LeafSpec) == child.is_leaf() for child in children)


def test_leaves_come_in_order_of_insertion() -> None:
    tree = {"b": 1, "a": [2, (3, None)], "c": Point(4, {})}
    assert tree_leaves(tree) == [1, 2, 3, None, 4]


def test_none_is_a_leaf_and_empty_containers_are_not() -> None:
    assert tree_flatten(None) == ([None], LeafSpec())
    leaves, spec = tree_flatten([(), {}, []])
    assert leaves == []
    assert tree_unflatten([], spec) == [(), {}, []]


@pytest.mark.parametrize(
    "tree",
    [
        (1, 2),
        [1],
        {"a": 1},
        OrderedDict(a=1),
        defaultdict(list, {"a": 1}),
        deque([1], maxlen=3),
        Point(1, 2),
        namedtuple("Pair", "a b")(1, 2),
    ],
)
def test_the_type_survives(tree: Any) -> None:
    result = tree_map(lambda leaf: leaf + 1, tree)
    assert type(result) is type(tree)
    if isinstance(tree, defaultdict):
        assert result.default_factory is list
    if isinstance(tree, deque):
        assert result.maxlen == 3


def test_a_subclass_of_a_container_is_a_leaf() -> None:
    class Mine(list[int]):
        pass

    tree = Mine([1])
    assert tree_leaves([tree]) == [tree]
    assert tree_is_leaf(tree)
    assert not tree_is_leaf([1])
    assert tree_is_leaf([1], is_leaf=lambda part: isinstance(part, list))


def test_is_leaf_stops_the_descent() -> None:
    leaves, spec = tree_flatten([(1, 2), {"a": (3,)}], is_leaf=lambda part: type(part) is tuple)
    assert leaves == [(1, 2), (3,)]
    assert spec.num_nodes == 4


def test_deep_nests_do_not_recurse() -> None:
    tree = nested_list(DEEP)
    leaves, spec = tree_flatten(tree)
    assert leaves == [7]
    assert spec == tree_structure(nested_list(DEEP))
    assert spec != tree_structure(nested_list(DEEP - 1))
    assert hash(spec) == hash(tree_structure(nested_list(DEEP)))
    assert repr(spec).count("TreeSpec") == DEEP
    assert pickle.loads(pickle.dumps(spec)) == spec
    other = tree_map(lambda first, second: first + second, tree, nested_list(DEEP))
    for _ in range(DEEP):
        (other,) = other
    assert other == 14


def test_a_cycle_is_an_error_and_a_shared_part_is_not() -> None:
    shared = [1]
    assert tree_leaves([shared, shared, (shared, [shared])]) == [1, 1, 1, 1]
    shared.append([shared])  # type: ignore[arg-type]  # the cycle under test
    with pytest.raises(ValueError, match="contains itself"):
        tree_flatten(shared)


def test_repr() -> None:
    tree = {"b": 1, "a": [2, (3, 4)], "c": ()}
    assert repr(tree_structure(tree)) == (
        "TreeSpec(dict, ['b', 'a', 'c'], [*,\n"
        "  TreeSpec(list, None, [*,\n"
        "    TreeSpec(tuple, None, [*,\n"
        "      *])]),\n"
        "  TreeSpec(tuple, None, [])])"
    )
    assert repr(LeafSpec()) == "*"


def test_map_over_several_trees() -> None:
    assert tree_map(lambda a, b: (a, b), (1, 2), ((3, 4), 5)) == ((1, (3, 4)), (2, 5))
    mixed = tree_map(lambda a, b: a - b, {"a": 1, "b": 2}, OrderedDict(b=10, a=20))
    assert mixed == {"a": -19, "b": -8}
    factories = tree_map(
        lambda a, b: a + b, defaultdict(list, {"a": 1}), defaultdict(int, {"a": 2})
    )
    assert factories == {"a": 3}
    assert tree_map(max, deque([1], maxlen=1), deque([2])) == deque([2])


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ((1, 2), [1, 2], "type"),
        ((1, 2), (1, 2, 3), "expected a number of children equal to 2, got 3"),
        ({"a": 1}, {"b": 1}, r"keys \['a'\], got \['b'\]"),
        ({"a": 1}, {"a": 1, "b": 1}, "keys"),
        ((1, 2), 5, "type"),
        (Point(1, 2), (1, 2), "type"),
        (Point(1, 2), namedtuple("Pair", "x y")(1, 2), "context"),
    ],
)
def test_map_over_different_shapes_is_an_error(first: Any, second: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tree_map(lambda a, b: a, first, second)


def test_unflatten_checks_its_arguments() -> None:
    spec = tree_structure((1, 2))
    with pytest.raises(ValueError, match="expected 2 leaves, got 1"):
        tree_unflatten([1], spec)
    with pytest.raises(TypeError, match="expected a TreeSpec"):
        tree_unflatten([1], "no spec")  # type: ignore[arg-type]  # the mistake under test


def test_map_only() -> None:
    tree = [1, "a", (2.5, None)]
    assert tree_map_only(int, lambda x: x + 1, tree) == [2, "a", (2.5, None)]
    assert tree_map_only((int, float), lambda x: x * 2, tree) == [2, "a", (5.0, None)]
    assert tree_map_only(int | str, lambda x: 0, tree) == [0, 0, (2.5, None)]
    assert tree_map_only(lambda x: x is None, lambda x: 3, tree) == [1, "a", (2.5, 3)]
    with pytest.raises(TypeError, match="tree_map_only"):
        tree_map_only("int", lambda x: x, tree)


def test_a_registered_type_is_a_container() -> None:
    try:
        register_pytree_node(
            Box, lambda box: ([box.inner], None), lambda children, _: Box(*children)
        )
        result = tree_map(lambda x: x * 2, {"a": Box([1, 2])})
        assert type(result["a"]) is Box
        assert result["a"].inner == [2, 4]
        with pytest.raises(ValueError, match="already registered"):
            register_pytree_node(Box, lambda box: ([], None), lambda children, _: Box(0))
        with pytest.raises(ValueError, match="flatten_with_keys_fn"):
            tree_flatten_with_path(Box(1))
    finally:
        containers.CONTAINERS.pop(Box, None)
    assert tree_leaves(Box(1)) != [1]


def test_paths() -> None:
    found, spec = tree_flatten_with_path({"a": (1, [Point(2, 3)])})
    assert spec == tree_structure({"a": (1, [Point(2, 3)])})
    assert [keystr(path) for path, _ in found] == ["['a'][0]", "['a'][1][0].x", "['a'][1][0].y"]
    assert found[0] == ((MappingKey("a"), SequenceKey(0)), 1)
    assert found[2][0][-1] == GetAttrKey("y")
    tree: Any = {"a": (1, [Point(2, 3)])}
    for key in found[2][0]:
        tree = key.get(tree)
    assert tree == 3


def test_a_spec_of_the_same_nodes_is_the_same() -> None:
    spec = tree_structure([1])
    assert spec == TreeSpec(spec.nodes)
    assert spec != [1]
