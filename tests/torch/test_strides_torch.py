"""The memory order of elementwise results is PyTorch's, whatever the operands' own order."""

import random

import pytest
import torch

from thunk.ops.rules.pointwise import pointwise_spec
from thunk.types.dtype import float32
from thunk.types.spec import TensorSpec

SIZES = (0, 1, 1, 2, 3, 4)


def spec_of(tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(tuple(tensor.shape), float32, tensor.stride(), tensor.storage_offset())


def random_operand(source: random.Random, shape: tuple[int, ...]) -> torch.Tensor:
    """A tensor of `shape` or one that broadcasts to it, in a random order, dense or not."""
    kept = [1 if source.random() < 0.15 else size for size in shape]
    if source.random() < 0.2:
        kept = kept[source.randint(0, len(kept)) :]
    order = list(range(len(kept)))
    if source.random() < 0.6:
        source.shuffle(order)
    steps = [source.choice((1, 1, 1, 2)) for _ in kept]
    stored = [kept[dim] * steps[dim] for dim in order]
    inverse = [order.index(dim) for dim in range(len(kept))]
    base = torch.zeros(stored).permute(inverse) if stored else torch.zeros(())
    window = base[tuple(slice(None, None, step) for step in steps)]
    if source.random() < 0.1:
        return window.expand(shape)
    if len(kept) == 4 and source.random() < 0.2:
        return window.contiguous(memory_format=torch.channels_last)
    return window


@pytest.mark.parametrize("seed", range(20))
def test_binary_results_lie_as_pytorch_lays_them(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(100):
        shape = tuple(source.choice(SIZES) for _ in range(source.randint(0, 5)))
        operands = [random_operand(source, shape) for _ in range(2)]
        expected = torch.add(*operands)
        found = pointwise_spec([spec_of(each) for each in operands])
        described = [(tuple(each.shape), each.stride()) for each in operands]
        assert (found.shape, found.strides) == (tuple(expected.shape), expected.stride()), described


@pytest.mark.parametrize("seed", range(10))
def test_unary_and_ternary_results_and_numbers(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(100):
        shape = tuple(source.choice(SIZES) for _ in range(source.randint(0, 5)))
        first, second, third = (random_operand(source, shape) for _ in range(3))
        specs = [spec_of(each) for each in (first, second, third)]
        assert pointwise_spec(specs[:1]).strides == first.exp().stride(), first.stride()
        assert pointwise_spec([specs[0], 1.0]).strides == (first + 1.0).stride(), first.stride()
        expected = torch.addcmul(first, second, third).stride()
        assert pointwise_spec(specs).strides == expected, [each.strides for each in specs]
