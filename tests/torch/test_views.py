"""Views against PyTorch: shapes, strides and offsets of chains, and writes through them.

The base has every geometry a tensor can have: row-major, permuted, with gaps, with an offset.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import thunk

LIBRARIES = (thunk, torch)


def geometry(kind: str, lib: Any, flat: Any) -> Any:
    """A tensor of shape (2, 3, 4) that is no view: it owns the storage it partly shows."""
    windows = {
        "dense": ((2, 3, 4), (12, 4, 1), 0),
        "permuted": ((2, 3, 4), (1, 8, 2), 0),
        "gaps": ((2, 3, 4), (24, 8, 2), 0),
        "offset": ((2, 3, 4), (12, 4, 1), 5),
        "offset and gaps": ((2, 3, 4), (1, 9, 2), 3),
    }
    size, stride, offset = windows[kind]
    return lib.as_strided(flat, size, stride, offset).detach()


KINDS = st.sampled_from(["dense", "permuted", "gaps", "offset", "offset and gaps"])

STEPS = [
    "v.transpose(0, -1)", "v.permute(*range(v.dim() - 1, -1, -1))", "v.unsqueeze(1)", "v[1]",
    "v[..., 1:]", "v[::2]", "v.squeeze()", "v.diagonal(0, 0, -1)", "v.unfold(-1, 2, 1)",
    "v.narrow(-1, 0, 2)", "v.expand(2, *v.shape)", "v.movedim(0, -1)", "v.unflatten(-1, (2, -1))",
    "v.view(-1)", "v.view(v.shape[0], -1)", "v.reshape(-1)", "v.flatten(0, 1)", "v.mT", "v.t()",
    "v.select(-1, -1)", "v.split(2, -1)[-1]", "v.chunk(2)[0]", "v.unbind(-1)[1]", "v[None]",
    "v.swapaxes(0, 1)", "v.squeeze(0)", "v.view(*v.shape[:-1], -1, 2)", "v.detach()",
    "v.tensor_split(2, -1)[0]", "v.as_strided((2, 2), (1, 2))", "v.ravel()", "v.contiguous()",
    "v.unsqueeze(-1)", "v.squeeze((0, -1))", "v.expand_as(v)", "v.broadcast_to(2, *v.shape)",
    "v.reshape(2, -1)", "v.hsplit(2)[1]", "v.adjoint()", "v.T",
]  # fmt: skip


def follow(view: Any, steps: list[str]) -> Any:
    """The end of a chain of views, or the type of what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in steps:
            try:
                view = eval(step, {"v": view})
            except Exception as error:
                return type(error)
    return view


def facts(view: Any) -> Any:
    if isinstance(view, type):
        return view
    return tuple(view.shape), view.stride(), view.storage_offset(), view._is_view(), view.tolist()


@given(KINDS, st.lists(st.sampled_from(STEPS), min_size=1, max_size=4))
def test_chains_of_views(kind: str, steps: list[str]) -> None:
    ends = [follow(geometry(kind, lib, lib.arange(64.0)), steps) for lib in LIBRARIES]
    assert facts(ends[0]) == facts(ends[1])


# What overlapping windows hold after a write depends on the order of the elements, and a window
# beyond the view it is taken from leaves the graph.
APART = [step for step in STEPS if "unfold" not in step and "strided" not in step]


@given(KINDS, st.lists(st.sampled_from(APART), max_size=3), st.integers(0, 3))
def test_writes_through_views(kind: str, steps: list[str], write: int) -> None:
    outcomes = [_write(lib, kind, steps, write) for lib in LIBRARIES]
    assert outcomes[0] == outcomes[1]


def _write(lib: Any, kind: str, steps: list[str], write: int) -> Any:
    """Values and gradients after a write through a view of a result with history."""
    flat = lib.arange(1.0, 65.0)
    leaf = geometry(kind, lib, flat).requires_grad_()
    other = lib.tensor(2.0).requires_grad_()
    base = leaf * 1.0 if write % 2 else lib.empty_strided(leaf.shape, leaf.stride()).copy_(leaf)
    view = follow(base, steps)
    if isinstance(view, type):
        return view
    weights = lib.arange(1.0, view.numel() + 1).reshape(view.shape)
    try:
        if write < 2:
            view.mul_(other * weights)
        else:
            view.copy_((other * weights).expand(view.shape))
        total = (base * base).sum() + view.sum()
        gradients = lib.autograd.grad(total, (leaf, other), allow_unused=True)
    except RuntimeError:
        return RuntimeError
    given = [None if each is None else each.tolist() for each in gradients]
    return base.tolist(), facts(view)[:2], base._version, given


IN_PLACE = [
    "t_()", "transpose_(0, 1)", "unsqueeze_(1)", "squeeze_()", "squeeze_(0)", "swapaxes_(0, 1)",
    "as_strided_((2, 2), (1, 3))", "swapdims_(0, 1)", "squeeze_((0,))",
]  # fmt: skip


@pytest.mark.parametrize("call", IN_PLACE)
@pytest.mark.parametrize("of_view", [False, True])
def test_in_place_views_change_the_window_and_the_history(call: str, of_view: bool) -> None:
    outcomes = []
    for lib in LIBRARIES:
        leaf = lib.arange(1.0, 13.0).view(1, 3, 4)[0].detach().requires_grad_()
        base = leaf * 2.0
        target = base[:2] if of_view else base
        returned = eval(f"target.{call}", {"target": target})
        weights = lib.arange(1.0, target.numel() + 1).reshape(target.shape)
        (gradient,) = lib.autograd.grad((target * weights).sum(), leaf)
        outcomes.append((
            returned is target, tuple(target.shape), target.stride(), target._version,
            target.grad_fn.name().rstrip("0123456789"), gradient.tolist(),
        ))  # fmt: skip
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("call", IN_PLACE)
def test_in_place_views_of_leaves(call: str) -> None:
    outcomes = []
    for lib in LIBRARIES:
        leaf = lib.arange(12.0).view(3, 4).requires_grad_()
        try:
            eval(f"leaf.{call}", {"leaf": leaf})
            error = None
        except RuntimeError:
            error = RuntimeError
        with lib.no_grad():
            eval(f"leaf.{call}", {"leaf": leaf})
        outcomes.append((error, tuple(leaf.shape), leaf.is_leaf, leaf.requires_grad))
    assert outcomes[0] == outcomes[1]


COMPLEX_WRITES = [
    "lib.view_as_real(z)[..., 0].mul_(w)", "z.real.mul_(w)", "z.imag.copy_(w.expand(3))",
    "z[1:].real.add_(w)", "lib.view_as_complex(x)[1].mul_(w * 1j)", "z.imag.fill_(2.0)",
    "lib.view_as_complex(x[1:]).real.mul_(w)", "z.t().imag.mul_(w)",
]  # fmt: skip


@pytest.mark.parametrize("code", COMPLEX_WRITES)
def test_writes_through_parts_of_complex_numbers(code: str) -> None:
    outcomes = []
    for lib in LIBRARIES:
        pairs = lib.arange(1.0, 7.0).view(3, 2).requires_grad_()
        x = pairs * 1.0
        z = lib.complex(pairs[:, 0], pairs[:, 1]) * 1.0
        w = lib.tensor(3.0).requires_grad_()
        eval(code, {"lib": lib, "x": x, "z": z, "w": w})
        total = (x * x).sum() + (lib.view_as_real(z) * lib.view_as_real(z)).sum()
        gradients = lib.autograd.grad(total, (pairs, w), allow_unused=True)
        outcomes.append([None if each is None else each.tolist() for each in gradients])
    assert outcomes[0] == outcomes[1]


BITS = ["float32", "float64", "int16", "uint8", "int64", "complex64", "bfloat16", "bool"]


@given(st.sampled_from(BITS), st.sampled_from(BITS), KINDS, st.sampled_from(STEPS[:8]))
def test_bits_read_as_another_dtype(have: str, want: str, kind: str, step: str) -> None:
    outcomes = []
    for lib in LIBRARIES:
        source = geometry(kind, lib, (lib.arange(64) % 2).to(getattr(lib, have)))
        view = follow(source, [step])
        try:
            found = view.view(getattr(lib, want))
        except RuntimeError:
            outcomes.append(RuntimeError)
            continue
        outcomes.append((*found.shape, *found.stride(), found.storage_offset(), str(found.dtype)))
    assert outcomes[0] == outcomes[1]


SIZED = ["v.resize_(2, 3)", "v.resize_(5, 5)", "v.resize_(0)", "v.resize_as_(lib.zeros(4))",
         "v.set_(lib.ones(2, 2))", "v.set_()", "v.set_(lib.ones(6), 1, (2, 2), (2, 1))",
         "v.resize_(1, 2, 3, 2, memory_format=lib.channels_last)", "v.resize_(-1)",
         "v.requires_grad_().resize_(2)", "v.set_(lib.ones(2, dtype=lib.int64))"]  # fmt: skip


@pytest.mark.parametrize("code", SIZED)
def test_tensors_that_look_elsewhere(code: str) -> None:
    outcomes = []
    for lib in LIBRARIES:
        target = lib.arange(12.0).view(3, 4).clone()
        try:
            returned = eval(code, {"lib": lib, "v": target})
        except RuntimeError:
            outcomes.append(RuntimeError)
            continue
        known = target.reshape(-1)[:6].tolist()
        outcomes.append((returned is target, tuple(target.shape), target.stride(), known))
    assert outcomes[0] == outcomes[1]
