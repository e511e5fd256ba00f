"""Pickles, deep copies, storages and the constructors of old."""

from __future__ import annotations

import copy
import os
import pickle

import pytest

import thunk


def test_pickles_keep_shared_storage() -> None:
    whole = thunk.arange(6.0).reshape(2, 3)
    first, second = pickle.loads(pickle.dumps((whole, whole.t())))
    first.add_(1)
    assert second.tolist() == first.t().tolist()
    assert whole.tolist()[0] == [0.0, 1.0, 2.0]


def test_a_generator_s_pickle_continues_its_stream() -> None:
    generator = thunk.Generator().manual_seed(3)
    thunk.rand(5, generator=generator)
    again = pickle.loads(pickle.dumps(generator))
    wanted = thunk.rand(4, generator=generator).tolist()
    assert thunk.rand(4, generator=again).tolist() == wanted


def test_fork_rng_puts_the_stream_back() -> None:
    thunk.manual_seed(1)
    before = thunk.get_rng_state().tolist()
    with thunk.random.fork_rng():
        thunk.rand(100)
    assert thunk.get_rng_state().tolist() == before


def test_one_memory_has_one_storage() -> None:
    tensor = thunk.arange(4.0)
    storage = tensor.untyped_storage()
    assert tensor.view(2, 2).untyped_storage() is storage
    assert tensor.clone().untyped_storage() is not storage
    assert storage.nbytes() == 16
    assert tensor.storage()[2] == 2.0
    assert thunk.zeros(0).set_(storage).tolist() == tensor.tolist()


def test_deep_copies_are_apart_and_keep_extras() -> None:
    leaf = thunk.ones(2, requires_grad=True)
    leaf.note = ["kept"]
    twin = copy.deepcopy(leaf)
    assert twin.note == ["kept"]
    assert twin.note is not leaf.note
    assert twin.requires_grad
    assert twin.data_ptr() != leaf.data_ptr()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_shared_memory_is_shared_with_a_child() -> None:
    tensor = thunk.zeros(2).share_memory_()
    assert tensor.is_shared()
    child = os.fork()
    if child == 0:
        tensor.fill_(7)
        os._exit(0)
    os.waitpid(child, 0)
    assert tensor.tolist() == [7.0, 7.0]


def test_legacy_constructors() -> None:
    assert thunk.Tensor(2, 3).shape == (2, 3)
    assert thunk.Tensor().shape == (0,)
    assert thunk.LongTensor(thunk.Size([2])).shape == (2,)
    assert thunk.FloatTensor([1, 2]).dtype is thunk.float32
    shared = thunk.ones(2)
    assert thunk.FloatTensor(shared).data_ptr() == shared.data_ptr()
    assert isinstance(thunk.ones(1, dtype=thunk.int64), thunk.LongTensor)
