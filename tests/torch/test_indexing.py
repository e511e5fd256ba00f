"""Brackets against PyTorch: shapes, strides, views, values, gradients and kinds of errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import thunk

READS = """
x[0] | x[-1] | x[:] | x[...] | x[()] | x[0:2] | x[::2] | x[1, 2] | x[1, :, 3] | x[None]
x[..., None] | x[None, None] | x[:, None, 1] | x[5] | x[-4] | x[::-1] | x[0:1:0] | x[0, 0, 0, 0]
x[1.5] | x['a'] | x[{}] | x[1:2.0] | x[True] | x[False] | x[None, True] | x[:, True] | x[..., ...]
x[True, [0, 1]] | x[lib.tensor(1)] | x[lib.tensor(True)] | x[lib.tensor([0, 2])]
x[lib.tensor([-1, 0])] | x[0:lib.tensor(2)] | x[lib.tensor([0, 5])] | x[lib.tensor([1.0])]
x[lib.tensor([True, False])] | x[lib.tensor([True, False])]
x[lib.tensor([1, 0], dtype=lib.int8)] | x[lib.tensor([1, 0], dtype=lib.int32)]
x[lib.tensor(1, dtype=lib.uint8)] | x[lib.tensor([1, 0], dtype=lib.uint8)] | x[[0, 1]]
x[[[0, 1], [1, 2]]] | x[[[0, 1], [1, 2]],] | x[[]] | x[[slice(0, 1), 1]] | x[[True, False]]
x[np.array([0, 1])] | x[np.array([True, False])] | x[range(2)] | x[np.array([0.5])] | x[[0.5]]
x[np.array(1)] | x[np.int64(1)] | x[np.bool_(True)] | x[[[0, 1]], :, 0] | x[[0, 1], None, [0, 1]]
x[:, [0, 1], None] | x[0, :, [0, 1]] | x[:, 0, [0, 1]] | x[[0, 1], :, 0] | x[[0, 1], 0]
x[0, ..., [0, 1]] | x[..., [0, 1], [0, 1]] | x[[0], ..., [0, 1]] | x[np.array([[0, 1]]), 0]
x[m2] | x[m2, 0] | x[m2, :] | x[m2, 1:3] | x[m2, lib.tensor([0, 1, 2])] | x[m2, None] | x[..., m2]
x[None, m2] | x[:, m2] | x[m3] | x[m3, 0] | x[lib.tensor([0]), [[0, 1], [1, 2]]]
x[lib.tensor([0, 1]), lib.tensor([0, 1, 2])] | x.transpose(0, 2)[:, [0, 1]]
x.transpose(0, 1)[:, [0, 1]] | x.permute(2, 0, 1)[[0, 1]] | x.permute(2, 0, 1)[..., [0, 1]]
x.transpose(1, 2)[[0, 1]] | x.transpose(1, 2)[:, :, [0, 1]] | x.transpose(1, 2)[[0, 1], :, [0, 1]]
e[e > 0] | e[[0]] | e[[]] | e[:, [0]] | e.t()[[0]] | z[0] | z[...] | z[None] | z[()] | z[True]
z[lib.tensor(True)] | z[:] | z[[]] | z[None, [0]] | x[lib.zeros(0)] | x[[], []]
"""

WRITES = """
x[0] = 1 | x[0] = [1, 2] | x[0] = np.ones(4) | x[0] = np.float32(2) | x[0] = np.float64(2)
x[0] = np.int64(2) | x[0] = 'a' | x[0] = None | x[0] = True | x[0] = 1j | i[0] = 1.7 | i[0] = 1j
i[0] = 1e30 | i[m] = 1.7 | i[m] = lib.tensor(1.7) | i[m] = lib.tensor([1.7])
i[[0, 1]] = lib.tensor(1.7) | i[0] = lib.tensor(1.7) | x[m] = lib.ones(3) | x[m] = lib.ones(2, 4)
x[m] = lib.ones(1, 2, 4) | x[m] = lib.ones(4) | x[:, 0] = lib.ones(1, 3)
x[:, 0] = lib.ones(3, 1) | x[...] = lib.ones(1, 1, 3, 4)
x[m] = lib.ones(2, 4, dtype=lib.float64) | x[m] = 5 | x[m, 0] = 7 | x[False] = 3 | x[True] = 3
x[None] = 3 | x[lib.tensor(True)] = 4 | x[[0, 0]] += 1 | x[1:3] += 1 | x[m] += 1 | x[m, 1:3] *= 2
x[::-1] = 1 | x[5] = 1 | x[0, 0, 0] = 1 | x[lib.tensor([5])] = 1 | z[()] = 1 | z[...] = 2
z[0] = 3 | z[None] = 4 | z[True] = 4 | x[:, [0, 1]] = lib.arange(6.0).view(3, 2)
x[[0, 1], None] = 1 | x[[0, 1], [1, 2]] = lib.tensor([100.0, 200.0]) | x[x > 5] = 0
x[x > 5] = lib.tensor(0.5, dtype=lib.float64)
x[x > 5] = lib.tensor([0.5, 1.5], dtype=lib.float64) | x[(x > 5).nonzero(as_tuple=True)] = 1
x[0:2, lib.tensor([True, False, True, False])] = -1 | x[[True, False, True]] = 1 | x[:, :] = x.t()
x[i > 0] = 3 | i[i == 0] = 2.9 | i[i == 0] = True | x[lib.zeros(0, dtype=lib.int64)] = 1
x[[]] = 1 | x[0:0] = 5 | del x[0] | x[lib.zeros(3, dtype=lib.bool)] = lib.ones(0, 4)
x.t()[1] = 9 | x[::2, ::3] = lib.tensor([[1.0], [2.0]])
"""


def listed(text: str) -> list[str]:
    return [each.strip() for line in text.strip().splitlines() for each in line.split("|")]


def read(lib: Any, code: str) -> Any:
    """What `code` gives, or the type of what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(code, {"lib": lib, "np": numpy, **read_scope(lib)})
        except Exception as error:
            return type(error)


def facts(result: Any) -> Any:
    if isinstance(result, type):
        return result
    return (
        tuple(result.shape), result.stride(), str(result.dtype), result._is_view(), result.tolist(),
    )  # fmt: skip


def read_scope(lib: Any) -> dict[str, Any]:
    bits = lib.tensor([[True, False, True], [False, True, False]])
    return {
        "x": lib.arange(24.0).view(2, 3, 4), "m2": bits, "z": lib.tensor(5.0),
        "m3": lib.arange(24).view(2, 3, 4) % 3 == 0, "e": lib.zeros(0, 3),
    }  # fmt: skip


@pytest.mark.parametrize("code", listed(READS))
def test_reads(code: str) -> None:
    ours, theirs = (read(lib, code) for lib in (thunk, torch))
    assert facts(ours) == facts(theirs)


def write_scope(lib: Any) -> dict[str, Any]:
    return {
        "x": lib.arange(12.0).view(3, 4), "z": lib.tensor(5.0),
        "m": lib.tensor([True, False, True]), "i": lib.zeros(3, 4, dtype=lib.int64),
    }  # fmt: skip


@pytest.mark.parametrize("code", listed(WRITES))
def test_writes(code: str) -> None:
    outcomes = []
    for lib in (thunk, torch):
        scope = write_scope(lib)
        error = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(code, {"lib": lib, "np": numpy, **scope}, scope)
            except Exception as raised:
                error = type(raised)
        outcomes.append((error, {name: scope[name].tolist() for name in "xzi"}))
    assert outcomes[0] == outcomes[1]


@st.composite
def mixed_index(draw: st.DrawFn) -> tuple[Any, ...]:
    """Any mix of three indices for a tensor of shape (3, 4, 2); lists become tensors."""
    found: list[Any] = []
    for size in (3, 4, 2)[: draw(st.integers(0, 3))]:
        if draw(st.integers(0, 4)) == 0:
            found.append(None)
        found.append(
            draw(
                st.one_of(
                    st.integers(-size, size - 1),
                    st.builds(slice, st.none() | st.integers(-4, 4), st.none() | st.integers(-4, 4),
                              st.none() | st.integers(1, 2)),
                    st.lists(st.integers(-size, size - 1), min_size=2, max_size=2),
                    st.lists(st.integers(-size, size - 1), min_size=1, max_size=1),
                    st.lists(st.booleans(), min_size=size, max_size=size),
                )
            )
        )  # fmt: skip
    if draw(st.booleans()):
        found.insert(draw(st.integers(0, len(found))), Ellipsis)
    return tuple(found)


def in_library(lib: Any, index: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(lib.tensor(each) if isinstance(each, list) else each for each in index)


@given(mixed_index(), st.sampled_from([(0, 1, 2), (2, 0, 1), (1, 0, 2)]))
def test_any_mix_of_indices(index: tuple[Any, ...], order: tuple[int, ...]) -> None:
    outcomes = []
    for lib in (thunk, torch):
        inverse = [order.index(dim) for dim in range(3)]
        source = lib.arange(24.0).view(*[(3, 4, 2)[dim] for dim in order]).requires_grad_()
        outcomes.append(_read_and_write(lib, source.permute(inverse), source, index))
    assert outcomes[0] == outcomes[1]


def _read_and_write(lib: Any, view: Any, source: Any, index: tuple[Any, ...]) -> Any:
    """Facts of the read, its gradient, and the gradient after a write at the same place."""
    try:
        found = view[in_library(lib, index)]
    except Exception as error:
        return type(error)
    weights = lib.arange(1.0, found.numel() + 1).view(found.shape)
    (gradient,) = lib.autograd.grad((found * weights).sum(), source)
    target = view * 1.0
    target[in_library(lib, index)] = 2.0
    (written,) = lib.autograd.grad((target * view.detach()).sum(), source)
    return facts(found), gradient.tolist(), written.tolist(), target.tolist()
