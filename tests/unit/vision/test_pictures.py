"""Grids and files of pictures, with Pillow and without it."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy
import pytest

import thunk
from thunk.vision import images, png, utils
from thunk.vision import io as io_

PIXELS = numpy.random.default_rng(1).integers(0, 256, (5, 7, 3), dtype=numpy.uint8)


def decoded(data: bytes) -> numpy.ndarray:
    """The pixels of an unfiltered PNG, its checksums verified."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, place = {}, 8
    while place < len(data):
        (size,) = struct.unpack_from(">I", data, place)
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + size]
        (checksum,) = struct.unpack_from(">I", data, place + 8 + size)
        assert checksum == zlib.crc32(kind + body)
        chunks[kind] = body
        place += 12 + size
    width, height, depth, colour = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[colour]
    rows = numpy.frombuffer(zlib.decompress(chunks[b"IDAT"]), numpy.uint8).reshape(height, -1)
    assert depth == 8
    assert not rows[:, 0].any()
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    return rows[:, 1:].reshape(height, width, channels)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_files_hold_the_pixels(channels: int) -> None:
    pixels = numpy.resize(PIXELS, (5, 7, channels))
    assert (decoded(png.encoded(pixels)) == pixels).all()


@pytest.mark.parametrize("pixels", [PIXELS.astype("float32"), numpy.zeros((2, 2, 5), "uint8")])
def test_png_refuses_what_it_cannot_hold(pixels: numpy.ndarray) -> None:
    with pytest.raises(ValueError, match="png: expected bytes of 1 to 4 channels"):
        png.encoded(pixels)


def test_grids() -> None:
    batch = thunk.arange(1.0, 6.0).reshape(5, 1, 1, 1).expand(5, 3, 2, 2)
    grid = utils.make_grid(batch, nrow=3, padding=1, pad_value=9)
    assert grid.shape == (3, 7, 10)
    wanted = [[9] * 10] * 7
    for place, value in enumerate((1, 2, 3, 4, 5)):
        top, left = 1 + 3 * (place // 3), 1 + 3 * (place % 3)
        for row in (top, top + 1):
            wanted[row] = [*wanted[row][:left], value, value, *wanted[row][left + 2 :]]
    # The place of the missing sixth picture keeps the colour of the frame.
    assert grid[0].tolist() == wanted
    assert grid[2].tolist() == wanted


def test_grids_of_other_shapes() -> None:
    assert utils.make_grid(thunk.ones(4, 6)).shape == (3, 4, 6)
    assert utils.make_grid(thunk.ones(1, 4, 6)).shape == (3, 4, 6)
    assert utils.make_grid(thunk.ones(3, 4, 6)).shape == (3, 4, 6)
    assert utils.make_grid([thunk.ones(1, 4, 6)] * 2).shape == (3, 8, 18)
    with pytest.raises(TypeError, match="tensor or list of tensors expected"):
        utils.make_grid([1, 2])


def test_normalised_grids() -> None:
    batch = thunk.tensor([[0.0, 4.0], [2.0, 10.0]]).reshape(2, 1, 1, 2)
    together = utils.make_grid(batch, padding=0, normalize=True)[0]
    assert together.tolist() == [pytest.approx([0.0, 0.4, 0.2, 1.0])]
    each = utils.make_grid(batch, padding=0, normalize=True, scale_each=True)[0]
    assert each.tolist() == [pytest.approx([0.0, 1.0, 0.0, 1.0])]
    bounded = utils.make_grid(batch, padding=0, normalize=True, value_range=(2, 4))[0]
    assert bounded.tolist() == [pytest.approx([0.0, 1.0, 0.0, 1.0])]
    assert batch.max().item() == 10


def test_saved_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "HAS_PILLOW", False)
    image = thunk.tensor([-1.0, 0.0, 0.2, 0.5, 1.0, 3.0]).reshape(1, 1, 2, 3)
    stream = io.BytesIO()
    utils.save_image(image, stream)
    utils.save_image(image, tmp_path / "x.png")
    wanted = [[0, 0, 51], [128, 255, 255]]
    for data in (stream.getvalue(), (tmp_path / "x.png").read_bytes()):
        assert decoded(data)[..., 0].tolist() == wanted
    utils.save_image(image.requires_grad_(), str(tmp_path / "grad.png"))
    with pytest.raises(ImportError, match="expected Pillow to be installed"):
        utils.save_image(image, tmp_path / "x.jpg")


def test_png_files_of_tensors(tmp_path: Path) -> None:
    image = thunk.from_numpy(PIXELS).permute(2, 0, 1)
    io_.write_png(image, tmp_path / "x.png", compression_level=0)
    assert (decoded((tmp_path / "x.png").read_bytes()) == PIXELS).all()
    assert bytes(io_.read_file(tmp_path / "x.png").tolist()) == (tmp_path / "x.png").read_bytes()
    assert (decoded(bytes(io_.encode_png(image[:1]).tolist()))[..., 0] == PIXELS[..., 0]).all()


def test_without_pillow_pictures_are_arrays() -> None:
    program = (
        "import sys; sys.modules['PIL'] = None\n"
        "import numpy\n"
        "from thunk.vision import datasets, transforms as T\n"
        "digits = datasets.bundled_digits(False)\n"
        "picture, label = digits[0]\n"
        "assert isinstance(picture, numpy.ndarray) and picture.shape == (28, 28)\n"
        "steps = T.Compose([T.Resize(14), T.RandomCrop(12), T.ToTensor()])\n"
        "assert steps(picture).shape == (1, 12, 12)\n"
        "fake = datasets.FakeData(2, (3, 8, 8))\n"
        "assert fake[0][0].shape == (8, 8, 3)\n"
        "try:\n"
        "    T.ToPILImage()(picture)\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
        env={"PYTHONPATH": str(Path(thunk.__file__).parents[1])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "install Pillow or thunk[vision]" in done.stdout
