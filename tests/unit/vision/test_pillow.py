"""Pillow images: conversions keep their pixels, and Pillow's own rules agree with the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import thunk
from thunk.vision import datasets, io, utils
from thunk.vision import transforms as T
from thunk.vision.transforms import functional as F

Image = pytest.importorskip("PIL.Image")

PIXELS = numpy.random.default_rng(4).integers(0, 256, (24, 30, 3), dtype=numpy.uint8)
SMOOTH = numpy.stack([numpy.add.outer(numpy.arange(24) * 4, numpy.arange(30) * 3) + k * 20
                      for k in range(3)], 2).astype(numpy.uint8)  # fmt: skip

# By name: the transform, and how far single pixels may be off: Pillow rounds in its own way.
CHANGES: dict[str, tuple[Any, int]] = {
    "flip": (T.RandomHorizontalFlip(1.0), 0),
    "flip over": (T.RandomVerticalFlip(1.0), 0),
    "crop": (T.RandomCrop(20, padding=3, fill=7), 0),
    "center": (T.CenterCrop(40), 0),
    "pad": (T.Pad((3, 4), padding_mode="symmetric"), 0),
    "resize": (T.Resize((11, 20)), 1),
    "resize cubic": (T.Resize((40, 33), T.InterpolationMode.BICUBIC), 1),
    "resized crop": (T.RandomResizedCrop(9), 1),
    "rotation": (T.RandomRotation(45, fill=2), 0),
    "rotation, expanded": (T.RandomRotation(45, expand=True), 0),
    "affine": (T.RandomAffine(20, (0.1, 0.2), (0.7, 1.4), 5), 0),
    "brightness": (T.ColorJitter(brightness=0.5), 1),
    "contrast": (T.ColorJitter(contrast=0.5), 1),
    "saturation": (T.ColorJitter(saturation=0.5), 2),
    "grey": (T.Grayscale(3), 1),
    "invert": (T.RandomInvert(1.0), 0),
    "posterize": (T.RandomPosterize(2, 1.0), 0),
    "solarize": (T.RandomSolarize(100, 1.0), 0),
    "autocontrast": (T.RandomAutocontrast(1.0), 1),
    "equalize": (T.RandomEqualize(1.0), 0),
    "blur": (T.GaussianBlur(5), 1),
}


@pytest.mark.parametrize("name", CHANGES)
def test_pillow_agrees_with_tensors(name: str) -> None:
    change, tolerance = CHANGES[name]
    pixels = SMOOTH if "resize" in name else PIXELS
    made = []
    for picture in (Image.fromarray(pixels), thunk.from_numpy(pixels).permute(2, 0, 1)):
        thunk.manual_seed(6)
        made.append(change(picture))
    assert isinstance(made[0], Image.Image)
    ours = F.pil_to_tensor(made[0]).int() - made[1].int()
    assert made[0].size == (made[1].shape[2], made[1].shape[1])
    # Nearest pixels may differ where a place falls between two of them.
    off = (ours.abs() > tolerance).float().mean().item()
    assert off <= (0.01 if name in ("rotation", "rotation, expanded", "affine") else 0.0)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "LA", "1", "I", "F", "I;16", "CMYK"])
def test_images_as_tensors(mode: str) -> None:
    image = Image.fromarray(PIXELS[:, :, 0])
    image = image.convert("I").convert(mode) if mode == "I;16" else image.convert(mode)
    made = F.to_tensor(image)
    assert made.shape == (len(image.getbands()), 24, 30)
    raw = numpy.asarray(image).reshape(24, 30, -1).transpose(2, 0, 1)
    if mode in ("I", "F", "I;16"):
        assert (made.numpy() == raw).all()
    else:
        scale = 1 if mode == "1" else 255
        assert numpy.allclose(made.numpy(), raw.astype("float32") / scale)
    if mode in ("L", "RGB", "RGBA", "LA", "CMYK"):
        back = F.to_pil_image(made, mode)
        assert back.mode == mode
        assert numpy.abs(numpy.asarray(back).astype(int) - numpy.asarray(image)).max() <= 1
        assert F.to_pil_image(F.pil_to_tensor(image), mode).tobytes() == image.tobytes()


def test_images_of_tensors() -> None:
    assert F.to_pil_image(thunk.rand(2, 3)).mode == "L"
    assert F.to_pil_image(thunk.rand(3, 2, 3)).size == (3, 2)
    assert F.to_pil_image(numpy.ones((2, 3), "float32")).mode == "F"
    with pytest.raises(ValueError, match="Incorrect mode"):
        F.to_pil_image(thunk.rand(3, 2, 2), "L")
    with pytest.raises(ValueError, match="> 4 channels"):
        F.to_pil_image(thunk.rand(5, 2, 2))


def test_hue_and_gamma_of_images() -> None:
    red = Image.new("RGB", (2, 2), (255, 0, 0))
    assert F.adjust_hue(red, 0.0).getpixel((0, 0)) == (255, 0, 0)
    assert F.adjust_hue(red, 1 / 3).getpixel((0, 0))[1] == 255
    assert F.adjust_hue(red.convert("L"), 0.3).mode == "L"
    assert F.adjust_gamma(Image.new("L", (1, 1), 64), 0.5).getpixel((0, 0)) in (127, 128)


def test_folders_of_pictures(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        Image.fromarray(PIXELS).save(tmp_path / name / "0.png")
        utils.save_image(thunk.rand(2, 3, 8, 8), tmp_path / name / "1.jpg")
    dataset = datasets.ImageFolder(str(tmp_path), T.ToTensor())
    image, label = dataset[2]
    assert (len(dataset), label, dataset.classes) == (4, 1, ["cat", "dog"])
    assert thunk.equal(image, F.to_tensor(PIXELS))


def test_files_as_tensors(tmp_path: Path) -> None:
    image = thunk.from_numpy(PIXELS).permute(2, 0, 1)
    io.write_png(image, tmp_path / "a.png")
    assert thunk.equal(io.read_image(str(tmp_path / "a.png")), image)
    assert thunk.equal(io.decode_image(io.read_file(tmp_path / "a.png")), image)
    grey = io.read_image(tmp_path / "a.png", io.ImageReadMode.GRAY)
    assert thunk.equal(grey, F.pil_to_tensor(Image.fromarray(PIXELS).convert("L")))
    assert io.read_image(tmp_path / "a.png", "rgb_alpha").shape == (4, 24, 30)
    io.write_jpeg(thunk.from_numpy(SMOOTH).permute(2, 0, 1), tmp_path / "b.jpg", quality=95)
    smooth = io.decode_jpeg(tmp_path / "b.jpg").int()
    assert (smooth - thunk.from_numpy(SMOOTH).permute(2, 0, 1).int()).abs().float().mean() < 4
    Image.fromarray(PIXELS).convert("P").save(tmp_path / "c.png")
    assert io.read_image(tmp_path / "c.png").shape == (3, 24, 30)
    with pytest.raises(TypeError, match="expected a tensor of bytes"):
        io.write_file(tmp_path / "d", thunk.ones(3))
    with pytest.raises(ValueError, match="channels x height x width"):
        io.encode_png(thunk.ones(3))


def test_datasets_hand_out_images() -> None:
    picture, _ = datasets.bundled_digits(False)[0]
    assert (picture.mode, picture.size) == ("L", (28, 28))
    fake, _ = datasets.FakeData(2, (3, 6, 5))[1]
    assert (fake.mode, fake.size) == ("RGB", (5, 6))
