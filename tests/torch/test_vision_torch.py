"""Transforms draw what the tensor calls of torchvision draw, and resample as torch does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
import torch.nn.functional

import thunk
from thunk.vision import transforms
from thunk.vision.transforms import chance
from thunk.vision.transforms import functional as F
from thunk.vision.transforms.functional.matrices import inverse_affine
from thunk.vision.transforms.functional.tensors import _grid

DRAWS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "uniform": (lambda: chance.uniform(-3, 7), lambda: torch.empty(1).uniform_(-3, 7).item()),
    "coin": (lambda: chance.coin(0.3), lambda: bool(torch.rand(1) < 0.3)),
    "at most": (lambda: chance.at_most(0.3), lambda: not 0.3 < torch.rand(1)),
    "integer": (lambda: chance.integer(0, 9), lambda: torch.randint(0, 9, size=(1,)).item()),
    "permutation": (lambda: chance.permutation(4), lambda: torch.randperm(4).tolist()),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("double", [False, True])
def test_numbers_come_from_the_same_stream(name: str, double: bool) -> None:
    ours, theirs = DRAWS[name]
    for framework in (thunk, torch):
        framework.manual_seed(7)
        framework.set_default_dtype(framework.float64 if double else framework.float32)
    try:
        assert [ours() for _ in range(50)] == [theirs() for _ in range(50)]
        assert thunk.rand(3).tolist() == torch.rand(3).tolist()
    finally:
        thunk.set_default_dtype(thunk.float32)
        torch.set_default_dtype(torch.float32)


def crop_box(height: int, width: int, rows: int, columns: int) -> list[int]:
    if (height, width) == (rows, columns):
        return [0, 0]
    return [torch.randint(0, n + 1, (1,)).item() for n in (rows - height, columns - width)]


def resized_crop_box(rows: int, columns: int) -> list[int]:
    log_ratio = torch.log(torch.tensor((3 / 4, 4 / 3)))
    for _ in range(10):
        area = rows * columns * torch.empty(1).uniform_(0.08, 1.0).item()
        shape = torch.exp(torch.empty(1).uniform_(log_ratio[0], log_ratio[1])).item()
        width, height = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
        if 0 < width <= columns and 0 < height <= rows:
            top = torch.randint(0, rows - height + 1, (1,)).item()
            return [top, torch.randint(0, columns - width + 1, (1,)).item(), height, width]
    return []


def jitter() -> list[Any]:
    order = torch.randperm(4).tolist()
    bounds = ((0.6, 1.4), (0.5, 1.5), (0.9, 1.1), (-0.2, 0.2))
    return [order, *(float(torch.empty(1).uniform_(low, high)) for low, high in bounds)]


def affine_numbers(columns: int, rows: int) -> list[Any]:
    angle = float(torch.empty(1).uniform_(-30.0, 30.0).item())
    shift = tuple(
        round(torch.empty(1).uniform_(-0.1 * size, 0.1 * size).item()) for size in (columns, rows)
    )
    scale = float(torch.empty(1).uniform_(0.8, 1.2).item())
    return [angle, shift, scale, (float(torch.empty(1).uniform_(-5.0, 5.0).item()), 0.0)]


IMAGE = thunk.zeros(3, 30, 40)
PARAMETERS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "RandomCrop": (
        lambda: list(transforms.RandomCrop.get_params(IMAGE, (20, 25))[:2]),
        lambda: crop_box(20, 25, 30, 40),
    ),
    "RandomCrop of all": (
        lambda: list(transforms.RandomCrop.get_params(IMAGE, (30, 40))[:2]),
        lambda: crop_box(30, 40, 30, 40),
    ),
    "RandomResizedCrop": (
        lambda: list(transforms.RandomResizedCrop.get_params(IMAGE, (0.08, 1.0), (3 / 4, 4 / 3))),
        lambda: resized_crop_box(30, 40),
    ),
    "ColorJitter": (
        lambda: list(
            transforms.ColorJitter.get_params((0.6, 1.4), (0.5, 1.5), (0.9, 1.1), (-0.2, 0.2))
        ),
        jitter,
    ),
    "RandomAffine": (
        lambda: list(
            transforms.RandomAffine.get_params(
                [-30.0, 30.0], (0.1, 0.1), (0.8, 1.2), [-5.0, 5.0], (40, 30)
            )
        ),
        lambda: affine_numbers(40, 30),
    ),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_drawn_in_the_same_order(name: str) -> None:
    ours, theirs = PARAMETERS[name]
    thunk.manual_seed(3)
    torch.manual_seed(3)
    assert [ours() for _ in range(25)] == [theirs() for _ in range(25)]


def test_erasing_draws_noise_in_between() -> None:
    thunk.manual_seed(5)
    torch.manual_seed(5)
    image = thunk.zeros(3, 16, 16)
    top, left, height, width, noise = transforms.RandomErasing.get_params(
        image, (0.1, 0.2), (0.5, 2.0), None
    )
    log_ratio = torch.log(torch.tensor((0.5, 2.0)))
    area = 256 * torch.empty(1).uniform_(0.1, 0.2).item()
    shape = torch.exp(torch.empty(1).uniform_(log_ratio[0], log_ratio[1])).item()
    assert [height, width] == [round(math.sqrt(area * shape)), round(math.sqrt(area / shape))]
    wanted = torch.empty([3, height, width]).normal_()
    numpy.testing.assert_allclose(noise.numpy(), wanted.numpy(), atol=1e-6)
    assert top == torch.randint(0, 16 - height + 1, (1,)).item()
    assert left == torch.randint(0, 16 - width + 1, (1,)).item()


PIXELS = numpy.random.default_rng(0).integers(0, 256, (3, 21, 30), dtype=numpy.uint8)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("as_float", [True, False])
def test_resizing(mode: str, antialias: bool, as_float: bool) -> None:
    smooth = mode.startswith("bi")
    pixels = PIXELS / numpy.float32(255) if as_float else PIXELS
    ours = F.resize(
        thunk.from_numpy(pixels), [13, 40], F.InterpolationMode(mode), antialias=antialias
    )
    theirs = torch.nn.functional.interpolate(
        torch.from_numpy(pixels)[None].float(), [13, 40], mode=mode,
        align_corners=False if smooth else None, antialias=antialias and smooth,
    )[0]  # fmt: skip
    if not as_float:
        theirs = (theirs.clamp(0, 255) if mode == "bicubic" else theirs).round().to(torch.uint8)
        assert (ours.numpy() != theirs.numpy()).mean() < 1e-3
    numpy.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-5 if as_float else 1)


def test_places_of_an_affine_map_are_those_of_affine_grid() -> None:
    """The matrix in pixels around the centre is affine_grid's in units of half a picture."""
    for angle, shift, scale, shear in ((30, (2, -3), 1.5, (5, 10)), (0, (0, 0), 1.0, (0, 0))):
        matrix = inverse_affine([0.0, 0.0], angle, shift, scale, shear)
        theta = torch.tensor(matrix).view(2, 3)
        units = torch.tensor([[1.0, 20 / 30, 1 / 15], [30 / 20, 1.0, 1 / 10]])
        wanted = torch.nn.functional.affine_grid(
            (theta * units)[None], [1, 1, 20, 30], align_corners=False
        )
        made = _grid(matrix, 30, 20, (30, 20))
        numpy.testing.assert_allclose(made.numpy(), wanted.numpy(), atol=1e-5)


def test_an_inverse_map_undoes_what_its_numbers_say() -> None:
    angle, shift, scale, shear, center = 25.0, (3.0, -4.0), 1.3, (7.0, -3.0), (11.0, 5.0)
    inverse = torch.tensor([*inverse_affine(center, angle, shift, scale, shear), 0, 0, 1])
    turn, first, second = (math.radians(x) for x in (angle, *shear))
    # Shift, centre, turn after shearing, scale, and the centre taken away, from left to right.
    move = torch.tensor([[1, 0, shift[0] + center[0]], [0, 1, shift[1] + center[1]], [0, 0, 1.0]])
    back = torch.tensor([[1, 0, -center[0]], [0, 1, -center[1]], [0, 0, 1.0]])
    a, c = (f(turn - second) / math.cos(second) for f in (math.cos, math.sin))
    b, d = -a * math.tan(first) - math.sin(turn), -c * math.tan(first) + math.cos(turn)
    middle = torch.tensor([[a * scale, b * scale, 0], [c * scale, d * scale, 0], [0, 0, 1.0]])
    numpy.testing.assert_allclose(
        (inverse.view(3, 3) @ (move @ middle @ back)).numpy(), numpy.eye(3), atol=1e-4
    )


def test_a_seed_gives_one_augmentation_whatever_the_picture_is_made_of() -> None:
    steps = transforms.Compose([
        transforms.RandomCrop(24, padding=4),
        transforms.RandomHorizontalFlip(),
        transforms.RandomApply([transforms.RandomVerticalFlip(0.9)], 0.7),
        transforms.RandomErasing(1.0),
    ])  # fmt: skip
    image = thunk.from_numpy(PIXELS / numpy.float32(255))
    made = []
    for _ in range(2):
        thunk.manual_seed(2)
        made.append(steps(F.pad(image, 4)).tolist())
    assert made[0] == made[1]
