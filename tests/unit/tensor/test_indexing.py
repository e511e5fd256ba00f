"""Brackets against NumPy: reads, writes and gradients for any mix of indices; PyTorch's errors.

In two places PyTorch reads differently from NumPy, and the model here follows PyTorch: integers
are taken out before tensors are looked at, and a short list of sequences is a tuple.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thunk

WHOLE = slice(None)


def array_of(shape: tuple[int, ...]) -> numpy.ndarray:
    return numpy.arange(float(numpy.prod(shape, dtype=int))).reshape(shape)


@st.composite
def items(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An index of any mix for a tensor of `shape`; arrays stand for tensors."""
    broadcast = draw(st.sampled_from([(), (1,), (2,), (3,), (2, 1), (2, 3)]))
    found: list[Any] = []
    dim, left_out = 0, False
    while dim < len(shape):
        kind = draw(st.sampled_from(["int", "slice", "tensor", "mask", "none", "ellipsis", "stop"]))
        size = shape[dim]
        if kind == "stop" and not left_out:
            break
        if kind == "none":
            found.append(None)
            continue
        if kind == "ellipsis":
            if not left_out:
                left_out = True
                found.append(Ellipsis)
                dim += draw(st.integers(0, len(shape) - dim))
            continue
        if kind == "mask" and not any(isinstance(each, numpy.ndarray) for each in found):
            width = draw(st.integers(1, len(shape) - dim))
            covered = shape[dim : dim + width]
            bits = draw(st.lists(st.booleans(), min_size=int(numpy.prod(covered)),
                                 max_size=int(numpy.prod(covered))))  # fmt: skip
            found.append(numpy.array(bits, bool).reshape(covered))
            dim += width
            broadcast = (int(found[-1].sum()),)
            continue
        found.append(draw(_item(size, kind, broadcast)))
        dim += 1
    return tuple(found)


def _item(size: int, kind: str, broadcast: tuple[int, ...]) -> st.SearchStrategy[Any]:
    if kind == "int" and size:
        return st.integers(-size, size - 1)
    if kind == "tensor" and size and 0 not in broadcast:
        count = int(numpy.prod(broadcast, dtype=int))
        places = st.lists(st.integers(-size, size - 1), min_size=count, max_size=count)
        return places.map(lambda chosen: numpy.array(chosen, dtype=int).reshape(broadcast))
    bound = st.none() | st.integers(-size - 1, size + 1)
    return st.builds(slice, bound, bound, st.none() | st.integers(1, 3))


def basic_part(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index without its arrays: what is a view; the ellipsis keeps scalars arrays."""
    found: list[Any] = []
    for item in items:
        if isinstance(item, numpy.ndarray) and item.dtype == bool:
            found += [WHOLE] * item.ndim
        elif isinstance(item, numpy.ndarray):
            found.append(WHOLE if item.ndim else int(item))
        else:
            found.append(item)
    return tuple(found) if any(i is Ellipsis for i in items) else (*found, Ellipsis)


def array_part(items: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    """The index's arrays, placed among the dimensions of the view."""
    spoken = sum(
        item.ndim if isinstance(item, numpy.ndarray) and item.dtype == bool else 1
        for item in items
        if item is not None and item is not Ellipsis
    )
    found: list[Any] = []
    for item in items:
        if isinstance(item, numpy.ndarray) and item.ndim:
            found.append(item)
        elif item is Ellipsis:
            found += [WHOLE] * (ndim - spoken)
        elif item is None or isinstance(item, slice):
            found.append(WHOLE)
    return tuple(found)


def model_read(array: numpy.ndarray, items: tuple[Any, ...]) -> numpy.ndarray:
    view = array[basic_part(items)]
    arrays = array_part(items, array.ndim)
    return view[arrays] if any(isinstance(each, numpy.ndarray) for each in arrays) else view


def model_write(array: numpy.ndarray, items: tuple[Any, ...], value: Any) -> None:
    view = array[basic_part(items)]
    arrays = array_part(items, array.ndim)
    view[arrays if any(isinstance(each, numpy.ndarray) for each in arrays) else ...] = value


def as_tensors(items: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(thunk.from_numpy(i) if isinstance(i, numpy.ndarray) else i for i in items)


SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)
CASES = SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), items(shape)))


@given(CASES)
def test_reads_are_numpys(case: tuple[Any, Any]) -> None:
    shape, index = case
    array = array_of(shape)
    expected = model_read(array, index)
    found = thunk.from_numpy(array)[as_tensors(index)]
    assert tuple(found.shape) == expected.shape
    numpy.testing.assert_array_equal(found.numpy(), expected)


@given(CASES)
def test_basic_reads_share_memory_and_others_do_not(case: tuple[Any, Any]) -> None:
    shape, index = case
    source = thunk.from_numpy(array_of(shape))
    found = source[as_tensors(index)]
    basic = not any(isinstance(each, numpy.ndarray) and each.ndim for each in index)
    assert found._is_view() == basic
    assert (found._storage is source._storage) == basic


@given(CASES, st.booleans())
def test_writes_are_numpys(case: tuple[Any, Any], number: bool) -> None:
    shape, index = case
    expected, target = array_of(shape), thunk.from_numpy(array_of(shape))
    part = model_read(expected, index).shape
    value = numpy.full(part, -1.0) if number else numpy.asarray(-1.0 - array_of(part))
    if any(isinstance(each, numpy.ndarray) for each in index):
        value = numpy.full(part, -1.0)  # of repeated places any may win
    model_write(expected, index, value)
    target[as_tensors(index)] = -1.0 if number else thunk.from_numpy(value)
    numpy.testing.assert_array_equal(target.numpy(), expected)


@given(CASES)
def test_the_gradient_counts_every_read(case: tuple[Any, Any]) -> None:
    shape, index = case
    source = thunk.from_numpy(array_of(shape)).requires_grad_()
    found = source[as_tensors(index)]
    weights = numpy.asarray(1.0 + array_of(tuple(found.shape)))
    (found * thunk.from_numpy(weights)).sum().backward()
    places = model_read(numpy.arange(array_of(shape).size).reshape(shape), index)
    expected = numpy.zeros(array_of(shape).size)
    numpy.add.at(expected, places.reshape(-1), weights.reshape(-1))
    numpy.testing.assert_allclose(source.grad.numpy(), expected.reshape(shape))


def matrix() -> Any:
    return thunk.from_numpy(array_of((3, 4)))


@pytest.mark.parametrize(
    ("index", "error"),
    [
        ((0, 0, 0), IndexError),
        (3, IndexError),
        (-4, IndexError),
        ([3], IndexError),
        ([True, False], IndexError),
        (1.5, IndexError),
        ({}, IndexError),
        ("a", TypeError),
        (slice(None, None, -1), ValueError),
        (slice(None, None, 0), ValueError),
        (slice(0, 1.5), TypeError),
        (([0, 1], [0, 1, 2]), IndexError),
        ((Ellipsis, [0], [5]), IndexError),
    ],
)
def test_wrong_indices(index: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        matrix()[index].tolist()
    changed = matrix()
    with pytest.raises(error):
        changed[index] = 1
        changed.tolist()


def test_a_float_tensor_is_no_index() -> None:
    with pytest.raises(IndexError, match="long, int, byte or bool"):
        matrix()[thunk.tensor([0.0])]


def test_a_zero_dimensional_tensor() -> None:
    number = thunk.tensor(5.0)
    assert number[...].item() == number[()].item() == 5.0
    assert tuple(number[None].shape) == tuple(number[True].shape) == (1,)
    assert tuple(number[False].shape) == (0,)
    for index in (0, slice(None)):
        with pytest.raises(IndexError):
            number[index]


@pytest.mark.parametrize("value", [[1, 2, 3, 4], numpy.ones(4), "a", None, numpy.float32(1)])
def test_only_numbers_and_tensors_are_assigned(value: Any) -> None:
    with pytest.raises(TypeError, match="can't assign"):
        matrix()[0] = value


def test_numbers_are_cast_as_they_are_stored() -> None:
    whole = thunk.zeros(3, dtype=thunk.int64)
    whole[0] = 1.7
    whole[thunk.tensor([False, True, False])] = 2.9
    assert whole.tolist() == [1, 2, 0]
    with pytest.raises(RuntimeError):
        whole[0] = 1j


def test_truth_values_add_a_dimension() -> None:
    assert tuple(matrix()[True].shape) == (1, 3, 4)
    assert tuple(matrix()[:, False].shape) == (3, 0, 4)
    target = matrix()
    target[False] = 7.0
    assert (target == matrix()).all()
    target[thunk.tensor(True)] = 7.0
    assert (target == 7.0).all()


def test_lists_of_sequences_are_tuples() -> None:
    assert tuple(matrix()[[[0, 1], [1, 2]]].shape) == (2,)
    assert tuple(matrix()[[0, 1]].shape) == (2, 4)
    assert matrix()[[slice(0, 1), 1]].tolist() == [1.0]
    assert tuple(matrix()[range(2)].shape) == (2, 4)


def test_augmented_assignment_writes_through_views() -> None:
    target = matrix()
    target[1:3] += 100
    target[:, 0] *= 2
    target[[0, 0]] -= 1
    expected = array_of((3, 4))
    expected[1:3] += 100
    expected[:, 0] *= 2
    expected[[0]] -= 1
    numpy.testing.assert_array_equal(target.numpy(), expected)


def test_gradients_flow_through_assignment() -> None:
    source = matrix().requires_grad_()
    values = thunk.tensor([10.0, 20.0], dtype=thunk.float64).requires_grad_()
    target = source * 1.0
    target[[0, 2], 1] = values
    target[1, 1:3] += target[0, 1:3]
    (target * matrix()).sum().backward()
    assert values.grad.tolist() == [1.0 + 5.0, 9.0]
    expected = array_of((3, 4))
    expected[0, 1] = expected[2, 1] = 0.0
    expected[0, 2] += 6.0
    numpy.testing.assert_array_equal(source.grad.numpy(), expected)


def test_a_mask_with_one_value_is_a_fill() -> None:
    target = (matrix().requires_grad_() * 1.0)
    value = thunk.tensor(9.0, dtype=thunk.float64).requires_grad_()
    target[target > 5] = value
    target.sum().backward()
    assert value.grad.item() == 6.0


def test_elements_are_not_deleted() -> None:
    with pytest.raises(TypeError):
        del matrix()[0]
