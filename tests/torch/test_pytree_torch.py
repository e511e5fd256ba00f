"""Pytrees agree with PyTorch's: leaves, specs as text, paths and refusals."""

from collections import OrderedDict, defaultdict, deque
from typing import Any, NamedTuple

import pytest
import torch.utils._pytree as oracle
from hypothesis import given
from hypothesis import strategies as st

from thunk.base import pytree


class Point(NamedTuple):
    x: Any
    y: Any


NESTS = st.recursive(
    st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.dictionaries(st.integers(), inner, max_size=3).map(OrderedDict)
        | st.dictionaries(st.integers(), inner, max_size=3).map(lambda d: defaultdict(list, d))
        | st.tuples(inner, inner).map(lambda pair: Point(*pair))
        | st.lists(inner, max_size=3).map(lambda items: deque(items, maxlen=5))
    ),
    max_leaves=15,
)


@given(NESTS)
def test_flatten(tree: Any) -> None:
    leaves, spec = pytree.tree_flatten(tree)
    want_leaves, want_spec = oracle.tree_flatten(tree)
    assert leaves == want_leaves
    assert repr(spec) == repr(want_spec)
    assert spec.num_nodes == want_spec.num_nodes
    assert spec.num_children == want_spec.num_children
    assert spec.type == want_spec.type
    assert spec.context == want_spec.context


@given(NESTS)
def test_paths(tree: Any) -> None:
    found, _ = pytree.tree_flatten_with_path(tree)
    want, _ = oracle.tree_flatten_with_path(tree)
    assert [(pytree.keystr(path), leaf) for path, leaf in found] == [
        (oracle.keystr(path), leaf) for path, leaf in want
    ]


@given(NESTS, NESTS)
def test_equality_and_map_over_two(first: Any, second: Any) -> None:
    assert (pytree.tree_structure(first) == pytree.tree_structure(second)) == (
        oracle.tree_structure(first) == oracle.tree_structure(second)
    )
    try:
        want = oracle.tree_map(lambda a, b: (a, b), first, second)
    except ValueError:
        with pytest.raises(ValueError, match="expected"):
            pytree.tree_map(lambda a, b: (a, b), first, second)
    else:
        assert pytree.tree_map(lambda a, b: (a, b), first, second) == want
