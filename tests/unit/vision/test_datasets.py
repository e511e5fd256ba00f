"""Datasets of pictures: files in their published forms are read, others are refused unexecuted."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import pickle
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy
import pytest

import thunk
from thunk.lazy.eager import eager
from thunk.utils.data import DataLoader
from thunk.vision import datasets, transforms
from thunk.vision.datasets import files, sources
from thunk.vision.datasets.bundled import FOLDER
from thunk.vision.datasets.idx import read_idx
from thunk.vision.datasets.pickled import read_pickled

RANDOM = numpy.random.default_rng(3)


def idx(array: numpy.ndarray, code: int = 0x08) -> bytes:
    header = struct.pack(">HBB", 0, code, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.tobytes()


def write_mnist(folder: Path, prefix: str, count: int, packed: bool = False) -> numpy.ndarray:
    folder.mkdir(parents=True, exist_ok=True)
    pixels = RANDOM.integers(0, 256, (count, 28, 28), dtype=numpy.uint8)
    labels = (numpy.arange(count) % 10).astype(numpy.uint8)
    for name, array in (("images-idx3-ubyte", pixels), ("labels-idx1-ubyte", labels)):
        data = idx(array)
        path = folder / f"{prefix}-{name}"
        if packed:
            path.with_name(path.name + ".gz").write_bytes(gzip.compress(data))
        else:
            path.write_bytes(data)
    return pixels


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("train", [False, True])
def test_mnist_in_torchvisions_layout(tmp_path: Path, packed: bool, train: bool) -> None:
    prefix = "train" if train else "t10k"
    pixels = write_mnist(tmp_path / "FashionMNIST" / "raw", prefix, 12, packed)
    dataset = datasets.FashionMNIST(str(tmp_path), train=train)
    assert (dataset.data.dtype, dataset.targets.dtype) == (thunk.uint8, thunk.int64)
    assert (dataset.data.numpy() == pixels).all()
    picture, label = dataset[11]
    assert (numpy.asarray(picture) == pixels[11]).all()
    assert (label, type(label), len(dataset)) == (1, int, 12)
    assert dataset.class_to_idx["Bag"] == 8


def test_a_missing_root_says_what_helps(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"Dataset not found.*download=True.*bundled_digits\(\)"):
        datasets.MNIST(tmp_path, train=False)
    with pytest.raises(RuntimeError, match="cifar-10-batches-py"):
        datasets.CIFAR10(tmp_path)


def test_emnist_chooses_a_split(tmp_path: Path) -> None:
    write_mnist(tmp_path / "EMNIST" / "raw", "emnist-letters-test", 3)
    dataset = datasets.EMNIST(tmp_path, "letters", train=False)
    assert (len(dataset), dataset.classes[1], len(dataset.classes)) == (3, "a", 27)
    assert len(datasets.EMNIST.classes_split_dict["balanced"]) == 47
    with pytest.raises(ValueError, match="expected a split of"):
        datasets.EMNIST(tmp_path, "words")


@pytest.mark.parametrize(
    ("code", "element"),
    [(0x08, ">u1"), (0x09, ">i1"), (0x0B, ">i2"), (0x0C, ">i4"), (0x0D, ">f4"), (0x0E, ">f8")],
)
def test_idx_of_every_element(tmp_path: Path, code: int, element: str) -> None:
    values = numpy.arange(-6, 6).astype(element).reshape(3, 2, 2)
    (tmp_path / "file").write_bytes(idx(values, code))
    found = read_idx(tmp_path / "file")
    assert (found.shape, found.dtype.isnative) == ((3, 2, 2), True)
    assert (found == values).all()


@pytest.mark.parametrize(
    "data", [b"", b"\0\0", b"PK\3\4", b"\0\0\x08\x03", idx(numpy.zeros((2, 2), numpy.uint8))[:-1],
             idx(numpy.zeros(2, numpy.uint8)) + b"x", b"\0\0\x07\1\0\0\0\1x",
             b"\0\0\x08\x03" + b"\xff" * 12],
)  # fmt: skip
def test_damaged_idx_files_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(ValueError, match="read_idx: expected"):
        read_idx(tmp_path / "file")


def test_the_bundled_digits() -> None:
    whole, train, test = (datasets.bundled_digits(part) for part in (None, True, False))
    assert (len(whole), len(train), len(test)) == (10_000, 8_000, 2_000)
    assert whole.data.shape == (10_000, 28, 28)
    assert whole.targets[:5].tolist() == [7, 2, 1, 0, 4]
    assert thunk.bincount(whole.targets).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    assert thunk.equal(whole.data[4::5], test.data)
    assert thunk.bincount(test.targets).min().item() > 150
    assert "CC" in (license := (FOLDER / "LICENSE").read_text()) or "Creative Commons" in license
    assert all(name in license for name in ("LeCun", "Cortes", "Burges", "by-sa/3.0"))


@pytest.mark.parametrize("name", ["bundled", "cifar"])
@pytest.mark.parametrize(
    "steps",
    [
        [transforms.ToTensor()],
        [transforms.ToTensor(), transforms.Normalize((0.13,), (0.3,))],
        [transforms.ToTensor(), transforms.Normalize(0.5, 0.5), transforms.Normalize([0.1], [2])],
        [
            transforms.RandomCrop(20, padding=4),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.5,), (0.2,)),
        ],
        [
            transforms.RandomVerticalFlip(0.3),
            transforms.RandomCrop((28, 10), fill=9),
            transforms.RandomCrop((30, 14), padding=(2, 1), fill=200),
            transforms.ToTensor(),
        ],
    ],
    ids=["plain", "normal", "normal twice", "cifar", "crops"],
)
def test_batches_in_one_step_are_the_single_pictures(
    tmp_path: Path, name: str, steps: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    transform = transforms.Compose(steps)
    if name == "bundled":
        dataset: Any = datasets.bundled_digits(False, transform)
    else:
        write_cifar(tmp_path, monkeypatch)
        dataset = datasets.CIFAR10(tmp_path, transform=transform)
    indices = [5, 0, 17, -1, 5]
    thunk.manual_seed(8)
    with eager():
        at_once = dataset.__collated__(indices)
    following = thunk.rand(1).item()
    thunk.manual_seed(8)
    one_by_one = thunk.utils.data.default_collate([dataset[index] for index in indices])
    assert thunk.rand(1).item() == following
    assert len(at_once) == len(one_by_one) == 2
    for left, right in zip(at_once, one_by_one):
        assert (left.dtype, left.stride()) == (right.dtype, right.stride())
        assert thunk.equal(left, right)


def test_other_transforms_are_asked_picture_by_picture() -> None:
    normal = transforms.Normalize((0.1, 0.2), (1, 1))
    for transform in (
        None,
        transforms.RandomHorizontalFlip(),
        transforms.Compose([transforms.ToTensor(), thunk.neg]),
        transforms.Compose([transforms.ToTensor(), normal]),
        type("Own", (transforms.ToTensor,), {})(),
        transforms.Compose([transforms.RandomCrop(40), transforms.ToTensor()]),
        transforms.Compose([transforms.RandomCrop(20, padding=-1), transforms.ToTensor()]),
        transforms.Compose([transforms.ToTensor(), transforms.RandomCrop(20)]),
    ):
        assert datasets.bundled_digits(False, transform).__collated__([0, 1]) is None
    hooked = transforms.Normalize((0.1,), (1,))
    hooked.register_forward_hook(lambda module, inputs, result: result + 1)
    steps = transforms.Compose([transforms.ToTensor(), hooked])
    assert datasets.bundled_digits(False, steps).__collated__([0, 1]) is None
    calls: list[int] = []
    dataset = datasets.bundled_digits(False, transforms.ToTensor(), lambda y: calls.append(y) or -y)
    _, labels = next(iter(DataLoader(dataset, batch_size=4)))
    assert labels.tolist() == [-label for label in calls]
    assert len(calls) == 4


def test_the_number_of_channels_must_fit() -> None:
    steps = transforms.Compose(
        [transforms.ToTensor(), transforms.Normalize((0.1, 0.2, 0.3), (1, 1, 1))]
    )
    with pytest.raises(RuntimeError, match="broadcast"):
        next(iter(DataLoader(datasets.bundled_digits(False, steps))))


def write_cifar(root: Path, monkeypatch: pytest.MonkeyPatch, protocol: int = 2) -> Any:
    folder = root / "cifar-10-batches-py"
    folder.mkdir(exist_ok=True)
    rows = RANDOM.integers(0, 256, (20, 3072), dtype=numpy.uint8)
    entries: dict[str, Any] = {
        "data_batch_1": {"data": rows, "labels": list(range(10)) * 2, "batch_label": "1 of 1"},
        "test_batch": {"data": rows[:4], "labels": [3, 1, 2, 0]},
        "batches.meta": {"label_names": ["plane", "car", "bird", "cat"], "num_vis": 3072},
    }
    sums = {}
    for name, entry in entries.items():
        (folder / name).write_bytes(pickle.dumps(entry, protocol))
        sums[name] = hashlib.md5((folder / name).read_bytes()).hexdigest()
    monkeypatch.setattr(datasets.CIFAR10, "train_list", (("data_batch_1", sums["data_batch_1"]),))
    monkeypatch.setattr(datasets.CIFAR10, "test_list", (("test_batch", sums["test_batch"]),))
    meta = {**datasets.CIFAR10.meta, "md5": sums["batches.meta"]}
    monkeypatch.setattr(datasets.CIFAR10, "meta", meta)
    return rows


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_cifar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: int) -> None:
    rows = write_cifar(tmp_path, monkeypatch, protocol)
    dataset = datasets.CIFAR10(tmp_path)
    assert dataset.data.shape == (20, 32, 32, 3)
    assert (dataset.data[7, :, :, 1].reshape(-1) == rows[7, 1024:2048]).all()
    assert dataset.targets == list(range(10)) * 2
    assert dataset.class_to_idx == {"plane": 0, "car": 1, "bird": 2, "cat": 3}
    picture, label = datasets.CIFAR10(tmp_path, train=False)[0]
    assert (numpy.asarray(picture).shape, label) == ((32, 32, 3), 3)


def test_a_damaged_cifar_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_cifar(tmp_path, monkeypatch)
    with open(tmp_path / "cifar-10-batches-py" / "test_batch", "ab") as file:
        file.write(b"x")
    with pytest.raises(RuntimeError, match="not found or corrupted"):
        datasets.CIFAR10(tmp_path)


# What Python 2 and NumPy 1 wrote: {"data": uint8 [1, 2], "labels": [4]}.
OLD_PICKLE = (
    b"\x80\x02}q\x01(U\x04datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b"
    b"\x87R(K\x01K\x02\x85cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xff"
    b"J\xff\xff\xff\xffK\x00tb\x89U\x02\x01\xfetbU\x06labels]K\x04au."
)


def test_pickles_of_python_2(tmp_path: Path) -> None:
    (tmp_path / "batch").write_bytes(OLD_PICKLE)
    found = read_pickled(tmp_path / "batch")
    assert found["data"].tolist() == [1, 254]
    assert found["data"].dtype == numpy.uint8
    assert found["labels"] == [4]


class Malicious:
    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __reduce__(self) -> Any:
        return self.parts


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (Malicious(os.system, ("echo broken > proof",)), "system"),
        (Malicious(eval, ("open('proof', 'w')",)), "eval"),
        (Malicious(numpy.load, ("proof",)), "load"),
        ({"data": [Malicious(getattr, (1, "real"))]}, "getattr"),
        (numpy.array([Malicious(print, ("x",))], dtype=object), "print"),
        (numpy.array([None]), "dtype"),
    ],
)
def test_pickles_that_ask_for_more_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: Any, named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "batch").write_bytes(pickle.dumps(value, 2))
    with pytest.raises(pickle.UnpicklingError, match=named):
        read_pickled(tmp_path / "batch")
    assert not (tmp_path / "proof").exists()


def test_folders(tmp_path: Path) -> None:
    for name in ("b/1.txt", "a/2.txt", "a/deep/0.TXT", "a/skip.md", "b/0.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    dataset = datasets.DatasetFolder(
        tmp_path, loader=lambda path: Path(path).read_text(), extensions=(".txt",)
    )
    assert list(dataset) == [("a/2.txt", 0), ("a/deep/0.TXT", 0), ("b/0.txt", 1), ("b/1.txt", 1)]
    assert (dataset.classes, dataset.targets) == (["a", "b"], [0, 0, 1, 1])
    assert str(dataset).splitlines()[:2] == [
        "Dataset DatasetFolder", "    Number of datapoints: 4",
    ]  # fmt: skip
    (tmp_path / "c").mkdir()
    with pytest.raises(FileNotFoundError, match="no valid file for the classes c"):
        datasets.DatasetFolder(tmp_path, loader=len, extensions=(".txt",))
    only = datasets.DatasetFolder(
        tmp_path, loader=len, is_valid_file=lambda p: p.endswith("md"), allow_empty=True
    )
    assert [target for _, target in only.samples] == [0]
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder"):
        datasets.ImageFolder(tmp_path / "a" / "deep")


def test_fake_data_depends_on_the_index_alone() -> None:
    dataset = datasets.FakeData(size=3, image_size=(3, 5, 4), transform=transforms.ToTensor())
    thunk.manual_seed(1)
    first = thunk.rand(1).item()
    thunk.manual_seed(1)
    image, label = dataset[2]
    assert thunk.rand(1).item() == first
    assert (image.shape, type(label)) == ((3, 5, 4), int)
    assert thunk.equal(dataset[2][0], image)
    assert not thunk.equal(dataset[1][0], image)
    with pytest.raises(IndexError, match="out of range"):
        dataset[3]


def test_transforms_come_in_one_way() -> None:
    with pytest.raises(ValueError, match="Only transforms or transform/target_transform"):
        datasets.VisionDataset("x", transforms=lambda a, b: (a, b), transform=len)
    pair = datasets.StandardTransform(len, str)
    assert pair([1, 2], 3) == (2, "3")


def publish(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mirror of a small MNIST on this machine's own disk."""
    write_mnist(folder, "train", 3, packed=True)
    write_mnist(folder, "t10k", 2, packed=True)
    names = [name for name, _ in datasets.MNIST.resources]
    sums = [files.md5_of(folder / name) for name in names]
    monkeypatch.setattr(datasets.MNIST, "resources", tuple(zip(names, sums)))
    broken = (folder / "nowhere").as_uri() + "/"
    monkeypatch.setattr(datasets.MNIST, "mirrors", (broken, folder.as_uri() + "/"))


def test_downloads_try_every_mirror_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path / "mirror", monkeypatch)
    assert len(datasets.MNIST(tmp_path / "root", download=True)) == 3
    monkeypatch.setattr(datasets.MNIST, "mirrors", ())
    assert len(datasets.MNIST(tmp_path / "root", train=False, download=True)) == 2


def test_downloads_with_a_wrong_sum_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path / "mirror", monkeypatch)
    resources = tuple((name, "0" * 32) for name, _ in datasets.MNIST.resources)
    monkeypatch.setattr(datasets.MNIST, "resources", resources)
    with pytest.raises(RuntimeError, match=r"expected MD5 0{32}, got [0-9a-f]{32}[\s\S]*yourself"):
        datasets.MNIST(tmp_path / "root", download=True)
    assert os.listdir(tmp_path / "root" / "MNIST" / "raw") == []


def test_without_a_network_the_error_names_the_file(tmp_path: Path) -> None:
    missing = (tmp_path / "none.gz").as_uri()
    with pytest.raises(RuntimeError, match=r"expected to fetch x\.gz, got[\s\S]*Without a network"):
        files.download([missing], tmp_path / "x.gz")


def test_archives_stay_in_their_folder(tmp_path: Path) -> None:
    archive = tmp_path / "bad.tar"
    with tarfile.open(archive, "w") as tar:
        for name in ("good/file", "../evil", "/tmp/thunk-evil"):
            member = tarfile.TarInfo(name)
            member.size = 2
            tar.addfile(member, io.BytesIO(b"hi"))
        link = tarfile.TarInfo("good/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    target = tmp_path / "deep" / "target"
    files.unpack(archive, target)
    assert sorted(p.name for p in tmp_path.rglob("*") if not p.is_dir()) == ["bad.tar", "file"]
    assert not Path("/tmp/thunk-evil").exists()
    with zipfile.ZipFile(tmp_path / "fine.zip", "w") as zipped:
        zipped.writestr("inner/a", "1")
    files.unpack(tmp_path / "fine.zip", target)
    assert (target / "inner" / "a").read_text() == "1"


def test_addresses_are_public_and_in_one_place() -> None:
    public = (
        "yann.lecun.com", "ossci-datasets.s3.amazonaws.com", "www.cs.toronto.edu",
        "fashion-mnist.s3-website.eu-central-1.amazonaws.com", "codh.rois.ac.jp",
        "biometrics.nist.gov",
    )  # fmt: skip
    folder = Path(sources.__file__).parents[1]
    for path in folder.rglob("*.py"):
        lines = [line for line in path.read_text().splitlines() if "://" in line]
        assert not lines or path.name == "sources.py", lines
        assert all(any(host in line for host in public) for line in lines)
