"""The memory order of elementwise results, against strides recorded from PyTorch 2.13."""

import pytest

from thunk.ops.rules.pointwise import pointwise_spec
from thunk.types.dtype import float32
from thunk.types.spec import TensorSpec

Operand = tuple[tuple[int, ...], tuple[int, ...]]  # shape and strides


def strides_of(*operands: Operand, numbers: int = 0) -> tuple[int, ...]:
    specs = [TensorSpec(shape, float32, strides) for shape, strides in operands]
    return pointwise_spec([*specs, *[1.0] * numbers]).strides


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ([((2, 3, 4), (12, 4, 1))], (12, 4, 1)),
        ([((4, 3), (1, 4))], (1, 4)),
        ([((4, 3), (1, 8))], (1, 4)),  # gaps close, the order stays
        ([((4, 3), (3, 1)), ((4, 3), (1, 4))], (3, 1)),  # the first operand decides
        ([((4, 3), (1, 4)), ((4, 3), (3, 1))], (1, 4)),
        ([((3,), (1,)), ((4, 3), (1, 4))], (1, 4)),  # a broadcast operand decides nothing
        ([((4, 1), (1, 1)), ((4, 3), (1, 4))], (1, 4)),
        ([((2, 3, 2, 2), (12, 1, 6, 3))], (12, 1, 6, 3)),  # channels last
        ([((2, 3, 2, 2), (12, 1, 6, 3)), ((3, 1, 1), (1, 1, 1))], (12, 1, 6, 3)),
        ([((2, 1, 2, 2), (4, 1, 2, 1)), ((2, 1, 2, 2), (4, 4, 2, 1))], (4, 4, 2, 1)),
        ([((2, 3), (0, 0))], (3, 1)),  # expanded on every side
        ([((0, 3), (3, 1)), ((0, 3), (1, 1))], (3, 1)),
        ([((), ())], ()),
    ],
)
def test_the_order_follows_the_operands(
    operands: list[Operand], expected: tuple[int, ...]
) -> None:
    assert strides_of(*operands) == expected


def test_a_number_beside_the_tensor_leaves_dimensions_of_size_one_in_their_place() -> None:
    operand = ((2, 1, 3), (3, 100, 1))
    assert strides_of(operand) == (3, 3, 1)
    assert strides_of(operand, numbers=1) == (3, 6, 1)
