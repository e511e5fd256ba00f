"""Transforms by value: tensors and arrays alike, chance within its bounds, misuse refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import thunk
from thunk import nn
from thunk.vision import transforms as T
from thunk.vision.transforms import functional as F
from thunk.vision.transforms import v2

PIXELS = numpy.random.default_rng(4).integers(0, 256, (12, 17, 3), dtype=numpy.uint8)
COUNTING = numpy.arange(12, dtype=numpy.uint8).reshape(3, 4)

CHANGES: dict[str, Callable[[], Any]] = {
    "resize": lambda: T.Resize(7),
    "resize to": lambda: T.Resize((20, 9), T.InterpolationMode.BICUBIC),
    "resize nearest": lambda: T.Resize((5, 5), T.InterpolationMode.NEAREST),
    "center": lambda: T.CenterCrop((6, 9)),
    "center of small": lambda: T.CenterCrop(21),
    "crop": lambda: T.RandomCrop(8),
    "crop padded": lambda: T.RandomCrop((14, 17), padding=2, padding_mode="reflect"),
    "crop if needed": lambda: T.RandomCrop(19, pad_if_needed=True, fill=7),
    "resized crop": lambda: T.RandomResizedCrop(6),
    "flip": lambda: T.RandomHorizontalFlip(1.0),
    "flip over": lambda: T.RandomVerticalFlip(1.0),
    "pad": lambda: T.Pad((1, 2, 3, 4), fill=9),
    "pad edge": lambda: T.Pad(2, padding_mode="edge"),
    "pad reflect": lambda: T.Pad((3, 1), padding_mode="reflect"),
    "pad symmetric": lambda: T.Pad((3, 1), padding_mode="symmetric"),
    "jitter": lambda: T.ColorJitter(0.4, 0.4, 0.4, 0.2),
    "grey": lambda: T.Grayscale(),
    "grey of three": lambda: T.RandomGrayscale(1.0),
    "invert": lambda: T.RandomInvert(1.0),
    "posterize": lambda: T.RandomPosterize(3, 1.0),
    "solarize": lambda: T.RandomSolarize(128, 1.0),
    "sharpness": lambda: T.RandomAdjustSharpness(1.7, 1.0),
    "autocontrast": lambda: T.RandomAutocontrast(1.0),
    "equalize": lambda: T.RandomEqualize(1.0),
    "blur": lambda: T.GaussianBlur(5, (0.5, 1.5)),
    "rotation": lambda: T.RandomRotation(40, fill=3),
    "rotation, expanded": lambda: T.RandomRotation((20, 70), expand=True),
    "affine": lambda: T.RandomAffine(20, (0.1, 0.2), (0.7, 1.4), (-5, 5, -3, 3)),
    "perspective": lambda: T.RandomPerspective(0.4, 1.0),
    "automatic": lambda: T.RandAugment(3, 12),
    "automatic, wide": lambda: T.TrivialAugmentWide(fill=3),
    "five": lambda: T.FiveCrop(5),
    "ten": lambda: T.TenCrop((5, 7), vertical_flip=True),
}


@pytest.mark.parametrize("name", CHANGES)
def test_arrays_and_tensors_are_the_same_pictures(name: str) -> None:
    change = CHANGES[name]()
    made = []
    for picture in (PIXELS, thunk.from_numpy(PIXELS).permute(2, 0, 1)):
        thunk.manual_seed(9)
        result = change(picture)
        made.append(result if isinstance(result, tuple) else (result,))
    assert len(made[0]) == len(made[1])
    for array, tensor in zip(*made):
        array = array if array.ndim == 3 else array[:, :, None]
        assert array.dtype == numpy.uint8
        assert (array == tensor.numpy().transpose(1, 2, 0)).all()
    batch = thunk.from_numpy(PIXELS).permute(2, 0, 1).expand(2, 3, 12, 17)
    thunk.manual_seed(9)
    several = change(batch)
    for whole, tensor in zip(several if isinstance(several, tuple) else (several,), made[1]):
        if name != "jitter":  # contrast is relative to each picture, equal here
            assert thunk.equal(whole[0], whole[1])
        assert thunk.equal(whole[1], tensor)


def test_moving_pixels_by_hand() -> None:
    assert F.hflip(COUNTING)[0].tolist() == [3, 2, 1, 0]
    assert F.vflip(COUNTING)[:, 0].tolist() == [8, 4, 0]
    assert F.crop(COUNTING, 1, 2, 2, 2).tolist() == [[6, 7], [10, 11]]
    assert F.crop(COUNTING, -1, 3, 2, 2).tolist() == [[0, 0], [3, 0]]
    assert F.crop(thunk.from_numpy(COUNTING), -1, 3, 2, 2).tolist() == [[0, 0], [3, 0]]
    assert F.pad(COUNTING[:1], (2, 0), padding_mode="symmetric").tolist() == [
        [1, 0, 0, 1, 2, 3, 3, 2]
    ]
    assert F.pad(COUNTING[:1], [1, 0, 0, 0], fill=5).tolist() == [[5, 0, 1, 2, 3]]
    assert F.center_crop(COUNTING, (1, 2)).tolist() == [[5, 6]]
    quarter = F.rotate(thunk.from_numpy(COUNTING[:3, :3])[None].float(), 90)
    assert quarter[0].tolist() == numpy.rot90(COUNTING[:3, :3]).tolist()
    moved = F.affine(thunk.from_numpy(COUNTING)[None], 0, [1, 0], 1.0, 0)
    assert moved[0].tolist() == [[0, 0, 1, 2], [0, 4, 5, 6], [0, 8, 9, 10]]
    filled = F.affine(thunk.from_numpy(COUNTING)[None], 0, [1, 0], 1.0, 0, fill=99)
    assert filled[0, :, 0].tolist() == [99] * 3
    corners = F.five_crop(COUNTING, 1)
    assert [corner.item() for corner in corners] == [0, 3, 8, 11, 6]


def test_sizes_after_resizing() -> None:
    tall = thunk.zeros(3, 40, 20)
    assert F.resize(tall, 10).shape == (3, 20, 10)
    assert F.resize(tall, [10]).shape == (3, 20, 10)
    assert F.resize(tall, 15, max_size=24).shape == (3, 24, 12)
    assert F.resize(tall, [7, 9]).shape == (3, 7, 9)
    assert F.resize(tall, 20) is tall
    with pytest.raises(ValueError, match="max_size"):
        F.resize(tall, 20, max_size=20)


def test_colours_by_hand() -> None:
    red = thunk.tensor([200, 100, 0], dtype=thunk.uint8).reshape(3, 1, 1)
    assert F.adjust_brightness(red, 0.5).flatten().tolist() == [100, 50, 0]
    assert F.adjust_brightness(red, 2).flatten().tolist() == [255, 200, 0]
    grey = int(0.2989 * 200 + 0.587 * 100)
    assert F.rgb_to_grayscale(red).flatten().tolist() == [grey]
    assert F.rgb_to_grayscale(red, 3).flatten().tolist() == [grey] * 3
    assert F.adjust_saturation(red, 0.0).flatten().tolist() == [grey] * 3
    assert F.adjust_contrast(red, 1.0).flatten().tolist() == [200, 100, 0]
    assert F.invert(red).flatten().tolist() == [55, 155, 255]
    assert F.solarize(red, 150).flatten().tolist() == [55, 100, 0]
    assert F.posterize(red, 1).flatten().tolist() == [128, 0, 0]
    turned = F.adjust_hue(thunk.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1), 1 / 3)
    assert turned.flatten().tolist() == pytest.approx([0.0, 1.0, 0.0], abs=1e-6)
    assert F.adjust_gamma(thunk.full((1, 1, 1), 0.25), 0.5).item() == pytest.approx(0.5)
    stretched = F.autocontrast(thunk.tensor([[[50, 100, 150]]], dtype=thunk.uint8))
    assert stretched.flatten().tolist() == [0, 127, 255]
    constant = thunk.full((3, 4, 4), 0.3)
    for change in (F.autocontrast, lambda x: F.gaussian_blur(x, 3), F.hflip):
        assert thunk.allclose(change(constant), constant)


def test_hue_round_trips() -> None:
    image = thunk.rand(3, 9, 9)
    assert thunk.allclose(F.adjust_hue(F.adjust_hue(image, 0.3), -0.3), image, atol=1e-5)
    assert thunk.allclose(F.adjust_hue(image, 0.0), image, atol=1e-6)


def test_conversions() -> None:
    made = F.to_tensor(PIXELS)
    assert (made.dtype, made.shape, made.is_contiguous()) == (thunk.float32, (3, 12, 17), True)
    assert (made.numpy() == PIXELS.transpose(2, 0, 1).astype("float32") / 255).all()
    assert F.to_tensor(COUNTING).shape == (1, 3, 4)
    kept = F.to_tensor(numpy.ones((2, 2), "float64"))
    assert (kept.dtype, kept.sum().item()) == (thunk.float64, 4)
    source = numpy.ones((2, 2), "float32")
    F.to_tensor(source).fill_(5)
    assert source.sum() == 4
    for dtype, value in ((thunk.uint8, 255), (thunk.int16, 32767), (thunk.float64, 1.0)):
        assert F.convert_image_dtype(thunk.ones(2), dtype).tolist() == [value] * 2
    bytes_ = thunk.tensor([0, 128, 255], dtype=thunk.uint8)
    assert F.convert_image_dtype(bytes_, thunk.int16).tolist() == [0, 128 * 128, 255 * 128]
    assert F.convert_image_dtype(
        thunk.tensor([32767], dtype=thunk.int16), thunk.uint8
    ).tolist() == [255]
    assert F.convert_image_dtype(bytes_, thunk.float32)[2].item() == 1.0


def test_normalize() -> None:
    image = thunk.rand(2, 3, 4)
    mean, std = (thunk.tensor(x).view(2, 1, 1) for x in ([0.1, 0.2], [2.0, 4.0]))
    wanted = (image - mean) / std
    assert thunk.equal(F.normalize(image, (0.1, 0.2), (2.0, 4.0)), wanted)
    strided = image.permute(0, 2, 1)
    assert thunk.equal(F.normalize(strided, (0.1, 0.2), (2.0, 4.0)), wanted.permute(0, 2, 1))
    weight = image.clone().requires_grad_()
    F.normalize(weight, (0.1, 0.2), (2.0, 4.0)).sum().backward()
    assert weight.grad is not None
    assert weight.grad[1, 0, 0].item() == 0.25
    before = image.clone()
    assert F.normalize(image, 0.0, 1.0) is not image
    assert F.normalize(image, (0.1, 0.2), (2.0, 4.0), inplace=True) is image
    assert thunk.equal(image, wanted)
    assert not thunk.equal(image, before)


def test_gradients_flow_through_the_rules_for_tensors() -> None:
    image = thunk.rand(3, 8, 8, requires_grad=True)
    thunk.manual_seed(1)
    steps = nn.Sequential(
        T.RandomResizedCrop(6), T.ColorJitter(0.3, 0.3, 0.3, 0.1), T.RandomRotation(10),
        T.Normalize([0.5] * 3, [0.2] * 3),
    )  # fmt: skip
    steps(image).pow(2).sum().backward()
    assert image.grad is not None
    assert image.grad.abs().sum().item() > 0


def test_whitening() -> None:
    change = T.LinearTransformation(2 * thunk.eye(12), thunk.ones(12))
    image = thunk.arange(12.0).reshape(3, 2, 2)
    assert thunk.equal(change(image), 2 * (image - 1))
    with pytest.raises(ValueError, match="square"):
        T.LinearTransformation(thunk.ones(2, 3), thunk.ones(3))


def test_erasing() -> None:
    thunk.manual_seed(0)
    image = thunk.ones(3, 20, 20)
    erased = T.RandomErasing(1.0, value=[1.0, 2.0, 3.0])(image)
    changed = erased != image
    assert not changed[0].any()
    assert 0.01 * 400 < changed[1].sum().item() < 0.4 * 400
    assert erased[2][changed[2]].unique().tolist() == [3.0]
    assert image.sum().item() == 1200
    assert T.RandomErasing(1.0, inplace=True)(image) is image
    assert image.sum().item() < 1200
    assert T.RandomErasing(0.0)(image) is image


def test_combinations() -> None:
    def plus(amount: int) -> Callable[[Any], Any]:
        return lambda value: value * 10 + amount

    assert T.Compose([plus(1), plus(2)])(0) == 12
    assert T.Lambda(plus(3))(0) == 3
    assert T.RandomApply([plus(1), plus(2)], p=1.0)(0) == 12
    assert T.RandomApply([plus(1)], p=0.0)(0) == 0
    random.seed(5)
    orders = {T.RandomOrder([plus(1), plus(2)])(0) for _ in range(50)}
    assert orders == {12, 21}
    chosen = [T.RandomChoice([plus(1), plus(2)], p=[0.0, 1.0])(0) for _ in range(9)]
    assert set(chosen) == {2}
    assert str(T.Compose([T.ToTensor(), T.CenterCrop(3)])) == (
        "Compose(\n    ToTensor()\n    CenterCrop(size=(3, 3))\n)"
    )


def test_chance_is_about_right() -> None:
    thunk.manual_seed(0)
    flips = sum(int(T.RandomHorizontalFlip(0.25)(COUNTING)[0, 0] == 3) for _ in range(2000))
    assert 430 < flips < 570
    tops = [T.RandomCrop.get_params(thunk.zeros(1, 5, 5), (3, 5))[0] for _ in range(300)]
    assert set(tops) == {0, 1, 2}
    angles = [T.RandomRotation.get_params([-10.0, 30.0]) for _ in range(300)]
    assert -10 <= min(angles) < -8 < 28 < max(angles) < 30


MISUSE: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "kind": (lambda: F.hflip("x"), TypeError, "img should be PIL Image, Tensor or ndarray"),
    "crop": (lambda: T.RandomCrop(30)(PIXELS), ValueError, "larger than input image"),
    "five": (lambda: T.FiveCrop(30)(PIXELS), ValueError, "bigger than input size"),
    "size": (lambda: T.CenterCrop((1, 2, 3)), ValueError, "only two dimensions"),
    "resize": (lambda: T.Resize((1, 2, 3)), ValueError, "1 or 2 values"),
    "mode": (lambda: T.Resize(3, "bilinear"), TypeError, "InterpolationMode"),
    "padding": (lambda: F.pad(PIXELS, (1, 2, 3)), ValueError, "1, 2, or 4 element"),
    "padding mode": (lambda: F.pad(PIXELS, 1, padding_mode="x"), ValueError, "Padding mode"),
    "hue": (lambda: T.ColorJitter(hue=0.6), ValueError, "hue values should be between"),
    "hue factor": (lambda: F.adjust_hue(PIXELS, 0.6), ValueError, "is not in"),
    "brightness": (lambda: T.ColorJitter(-1), ValueError, "must be non negative"),
    "contrast": (lambda: T.ColorJitter(contrast="x"), TypeError, "single number"),
    "degrees": (lambda: T.RandomRotation(-3), ValueError, "must be positive"),
    "translate": (lambda: T.RandomAffine(1, (2, 0)), ValueError, "between 0 and 1"),
    "kernel": (lambda: T.GaussianBlur(4), ValueError, "odd and positive"),
    "sigma": (lambda: T.GaussianBlur(3, (2, 1)), ValueError, "of the form"),
    "erasing": (lambda: T.RandomErasing(2), ValueError, "between 0 and 1"),
    "erasing value": (lambda: T.RandomErasing(value="x"), ValueError, "should be 'random'"),
    "tensor": (lambda: F.to_tensor(thunk.ones(2)), TypeError, "should be PIL Image or ndarray"),
    "rank": (lambda: F.to_tensor(numpy.ones(3)), ValueError, "2/3 dimensional"),
    "bytes": (lambda: F.normalize(thunk.ones(3, 2, 2).byte(), 0, 1), TypeError, "float tensor"),
    "flat": (lambda: F.normalize(thunk.ones(2, 2), 0, 1), ValueError, "C, H, W"),
    "std": (lambda: F.normalize(thunk.ones(1, 2, 2), 0, 0), ValueError, "std evaluated to zero"),
    "channels": (lambda: F.normalize(thunk.ones(1, 2, 2), (0, 0), 1), RuntimeError, "broadcast"),
    "unsafe": (
        lambda: F.convert_image_dtype(thunk.ones(2), thunk.int64), RuntimeError, "safely",
    ),
    "fill": (lambda: F.rotate(PIXELS, 3, fill=[1, 2]), ValueError, "number of channels"),
    "lambda": (lambda: T.Lambda(3), TypeError, "should be callable"),
    "choice": (lambda: T.RandomChoice(len), TypeError, "should be a sequence"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSE)
def test_misuse(name: str) -> None:
    call, kind, text = MISUSE[name]
    with pytest.raises(kind, match=text):
        call()


def test_automatic_augmentation_reaches_every_change() -> None:
    change = T.TrivialAugmentWide()
    names: list[str] = []
    change.changed = lambda img, name, strength: names.append(name) or img
    thunk.manual_seed(0)
    for _ in range(300):
        change(PIXELS)
    assert len(set(names)) == 14
    for name in set(names):
        assert T.RandAugment().changed(PIXELS, name, 4.0).shape == PIXELS.shape


def test_samples_of_v2() -> None:
    image = thunk.arange(12, dtype=thunk.uint8).reshape(1, 3, 4)
    steps = v2.Compose([
        v2.ToImage(), v2.RandomHorizontalFlip(1.0), v2.ToDtype(thunk.float32, scale=True),
        v2.Normalize([0.0], [2.0]),
    ])  # fmt: skip
    wanted = image.flip(-1).float() / 255 / 2
    assert thunk.equal(steps(image), wanted)
    assert thunk.equal(steps(COUNTING), wanted)
    made, label = steps(image, 7)
    assert thunk.equal(made, wanted)
    assert label == 7
    sample = steps({"id": 3, "parts": [image, thunk.ones(2)]})
    assert thunk.equal(sample["parts"][0], wanted)
    assert sample["parts"][1].tolist() == [1, 1]
    assert sample["id"] == 3
    assert v2.Identity()(1, 2) == (1, 2)
    with pytest.raises(TypeError, match="expected a sample with a picture"):
        v2.Resize(3)("label")


@pytest.mark.parametrize(
    "name", ["RandomCrop", "RandomResizedCrop", "RandomRotation", "GaussianBlur", "CenterCrop"]
)
def test_v2_draws_as_v1(name: str) -> None:
    image = thunk.from_numpy(PIXELS).permute(2, 0, 1)
    made = []
    for module in (T, v2):
        thunk.manual_seed(4)
        made.append(getattr(module, name)(5)(image))
    assert thunk.equal(*made)


def test_every_transform_can_be_printed() -> None:
    for name, make in CHANGES.items():
        assert repr(make()).startswith(type(make()).__name__ + "("), name
