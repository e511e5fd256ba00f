"""What is public and no operator: attributes, conversions, settings and errors, against torch."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy
import pytest
import torch

import thunk

SAME_ERROR = """
T.arange(0, 3, 0)
T.arange(0, 3, -1)
T.arange(0, 3, dtype=T.bool)
T.arange()
T.linspace(0, 1, -1)
T.linspace(T.ones(2), 1, 3)
T.eye(-1)
T.zeros(-1)
T.zeros(2, dtype='float32')
T.full((2,), 300, dtype=T.uint8)
T.empty_strided((2,), (1, 1))
T.empty_permuted((2, 3), (0, 0))
T.tril_indices(-1, 2)
T.hann_window(3, dtype=T.int64)
T.vander(T.ones(2, 2))
T.tensor('a')
T.tensor([1, [2]])
T.tensor([1], dtype='x')
T.tensor([1], device='foo')
T.tensor([1], requires_grad=True)
T.ones(2, dtype=T.int64, requires_grad=True)
T.from_numpy([1])
T.frombuffer(b'', dtype=T.uint8)
T.frombuffer(b'abc', dtype=T.int32)
T.asarray([1], copy=False)
T.rand(2, dtype=T.int64)
T.randint(3, 3, (2,))
T.randperm(-1)
T.bernoulli(T.full((2,), 2.))
T.ones(2).bernoulli_(2.)
T.ones(2).uniform_(3, 1)
T.ones(2, dtype=T.int64).normal_()
T.ones(2).exponential_(-1)
T.multinomial(T.ones(3), 5)
T.multinomial(-T.ones(3), 1)
T.normal(T.ones(2), -T.ones(2))
T.manual_seed('a')
T.Generator('cuda')
T.rand(2, generator=3)
T.rand(2, device='cuda')
T.ones(2).cuda()
T.ones(2).to('cuda')
T.ones(2).pin_memory()
T.ones(2).item()
float(T.ones(2))
int(T.ones(2))
bool(T.ones(2))
bool(T.ones(0))
len(T.tensor(1))
iter(T.tensor(1))
[1][T.tensor(1.)]
T.ones(2).size(3)
T.ones(2, device='meta').item()
T.ones(2, device='meta').numpy()
T.ones(2, requires_grad=True).numpy()
float(T.tensor(1 + 2j))
int(T.tensor(float('nan')))
'a' in T.ones(2)
T.ones(2).type('foo')
T.LongTensor([1.5, 'a'])
T.FloatTensor(2.5)
T.FloatTensor(T.ones(2, dtype=T.int64))
T.promote_types(1, 2)
T.broadcast_shapes((2,), (3,))
T.broadcast_shapes((-2,))
T.set_default_dtype(T.int64)
T.set_num_threads(0)
T.use_deterministic_algorithms('a')
T.finfo(T.int64)
T.ones(2) + 'a'
T.ones(2) < 'a'
T.ones(2) @ 2
T.ones(2).foo
T.ones(2).is_coalesced()
T.ones(2, requires_grad=True).__dlpack__()
T.set_rng_state(T.zeros(3))
T.from_dlpack(3)
T.zeros(2, dtype=T.float64, out=T.zeros(2))
T.empty(2, memory_format=T.channels_last)
T.numel(3)
T.return_types.foo
T.signal.windows.hann(-1)
T.signal.windows.gaussian(3, std=0)
copy.deepcopy(T.ones(2, requires_grad=True) * 2)
""".strip().splitlines()

SAME_VALUE = """
T.ones(2, 3).shape
T.ones(2, 3).size(-1)
T.ones(2, 3).t().stride()
T.ones(2, 3).numel()
T.ones(2, 3).nbytes
T.ones(2, dtype=T.float16).element_size()
T.ones(2, 3).is_contiguous()
T.ones(2, 3).t().is_contiguous()
T.ones(2, 3, 4, 5).is_contiguous(memory_format=T.channels_last)
T.ones(2, 3).dim_order()
T.ones(2).get_device()
T.ones(2).is_cuda
T.ones(2).is_sparse
T.ones(2, device='meta').is_meta
T.ones(2).is_pinned()
T.ones(2).is_shared()
T.ones(2).is_same_size(T.ones(3))
T.ones(2).type()
T.ones(2, dtype=T.bool).type()
T.ones(2, dtype=T.complex64).type()
T.ones(2).type('torch.LongTensor')
T.ones(2).type(T.float64)
T.ones(2).layout
T.ones(2).is_inference()
T.ones(2).requires_grad
isinstance(T.ones(2), T.FloatTensor)
isinstance(T.ones(2), T.LongTensor)
T.tensor(2.5).item()
T.tensor(1.5, dtype=T.bfloat16).item()
T.tensor([[1, 2], [3, 4]]).tolist()
int(T.tensor(3.7))
float(T.tensor(2))
complex(T.tensor(1.5))
bool(T.tensor([0.0]))
[1, 2, 3][T.tensor(1)]
2.0 in T.tensor([1., 2.])
5 in T.tensor([1., 2.])
T.ones(2).__dlpack_device__()[0]
T.ones(2).apply_(lambda x: x + 1)
T.ones(2).map_(T.tensor([3., 4.]), lambda a, b: a + b)
f'{T.tensor(3.14159):.2f}'
f'{T.ones(2)}'
T.Size([2, 3]) + (4,)
T.broadcast_shapes((2, 1), 3, (1, 1))
T.result_type(T.ones(2, dtype=T.int32), 1.5)
T.promote_types(T.int8, T.uint8)
T.can_cast(T.float32, T.int32)
T.is_tensor(3)
T.is_storage(T.ones(2).untyped_storage())
T.typename(T.ones(2))
T.numel(T.ones(2, 3))
T.get_default_dtype()
T.get_default_device()
T.are_deterministic_algorithms_enabled()
T.get_float32_matmul_precision()
T.ones(2).untyped_storage().nbytes()
T.ones(2, 3).t().storage().tolist()
T.ones(3).storage().size()
T.float, T.double, T.half, T.long, T.int, T.short
T.tensor([3., 1., 2.]).max(0).indices
type(T.tensor([3., 1.]).max(0)).__name__
T.cuda.is_available() and 1
T.newaxis
round(T.pi, 5), T.inf
""".strip().splitlines()


def outcome(library: Any, call: str) -> tuple[type, str]:
    try:
        return type(None), str(eval(call, {"T": library, "copy": copy}))
    except Exception as error:
        return type(error), ""


@pytest.mark.parametrize("call", SAME_ERROR)
def test_refuses_with_torch_s_exception(call: str) -> None:
    theirs, _ = outcome(torch, call)
    ours, result = outcome(thunk, call)
    assert theirs is not type(None), "torch accepts this"
    assert issubclass(ours, theirs), f"expected {theirs.__name__}, got {ours.__name__} {result}"


@pytest.mark.parametrize("call", SAME_VALUE)
def test_says_what_torch_says(call: str) -> None:
    assert outcome(thunk, call) == outcome(torch, call)


def test_factories_take_requires_grad() -> None:
    for library in (thunk, torch):
        assert library.zeros(2, requires_grad=True).requires_grad
        assert library.randn(2, requires_grad=True).is_leaf
        assert library.ones(2).new_ones(3, requires_grad=True).requires_grad


def test_numpy_sees_the_same_memory() -> None:
    for library in (thunk, torch):
        tensor = library.zeros(3)
        array = numpy.asarray(tensor)
        array[1] = 5
        assert tensor.tolist() == [0.0, 5.0, 0.0]
        assert numpy.add(tensor, 1).tolist() == [1.0, 6.0, 1.0]
        assert numpy.asarray(tensor, dtype="float64").dtype == numpy.float64


def test_pickles_keep_flags() -> None:
    for library in (thunk, torch):
        again = pickle.loads(pickle.dumps(library.ones(2, requires_grad=True)))
        assert again.requires_grad
        assert again.tolist() == [1.0, 1.0]


def test_default_device_is_where_tensors_are_born() -> None:
    for library in (thunk, torch):
        with library.device("meta"):
            assert library.zeros(2).device.type == "meta"
            assert library.tensor([1]).device.type == "meta"
        library.set_default_device("meta")
        assert library.get_default_device() == library.device("meta")
        library.set_default_device(None)
        assert library.zeros(2).device.type == "cpu"


def test_named_results_are_return_types() -> None:
    for library in (thunk, torch):
        found = library.max(library.tensor([[1.0, 5.0]]), 1)
        assert isinstance(found, library.return_types.max)
        values, indices = found
        assert values is found.values
        assert indices is found.indices


def test_subclasses() -> None:
    for library in (thunk, torch):
        tensor = type("Mine", (library.Tensor,), {})([1, 2])
        assert type(tensor).__name__ == "Mine"
        assert tensor.tolist() == [1.0, 2.0]
        again = library.ones(2).as_subclass(type(tensor))
        assert type(again) is type(tensor)
        made = library.Tensor._make_subclass(type(tensor), library.ones(2), True)
        assert made.requires_grad
        assert made.is_leaf
