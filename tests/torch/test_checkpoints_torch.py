"""Checkpoints cross between PyTorch and Thunk, bit for bit, both ways and in every format."""

import io
import pickle
import pickletools
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import thunk

DTYPES = [
    "float32", "float64", "float16", "bfloat16", "complex64", "complex128", "bool", "uint8", "int8",
    "int16", "int32", "int64", "uint16", "uint32", "uint64",
]  # fmt: skip


def contents(library: Any) -> dict[str, Any]:
    """Everything that a default load accepts, made with either library."""
    base = library.arange(12.0).reshape(3, 4)
    kinds = {
        name: library.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(library, name)) for name in DTYPES
    }
    return {
        "kinds": kinds, "base": base, "turned": base.t(), "part": base[1:, 1:],
        "asks": library.ones(2, requires_grad=True), "dtype": library.float32,
        "device": library.device("cpu"), "numbered": library.device("cpu", 0),
        "size": library.Size([1, 2]), "ordered": OrderedDict(a=1), "set": {1, 2},
        "list": [1, "a", None, 2.5, b"xx", 2**70, (1, 2, 3, 4)], "complex": 1j,
        "meta": library.empty(2, 3, device="meta"), "empty": library.ones(0, 3),
        "scalar": library.tensor(3.0), "special": library.tensor([float("nan"), -0.0, 1e-45]),
        "generator": library.get_rng_state(),
    }  # fmt: skip


def bits(tensor: Any) -> bytes:
    view = tensor.detach().contiguous().view(-1)
    integer = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}.get(view.element_size())
    library = torch if isinstance(tensor, torch.Tensor) else thunk
    if integer is None or view.dtype is library.bool:
        return bytes(numpy.asarray(view).tobytes())
    return bytes(numpy.asarray(view.view(getattr(library, integer))).tobytes())


def assert_same(found: Any, wanted: Any, path: str = "") -> None:
    if isinstance(wanted, dict):
        assert type(found) is type(wanted), path
        assert list(found) == list(wanted), path
        for key in wanted:
            assert_same(found[key], wanted[key], f"{path}/{key}")
        return
    if not hasattr(wanted, "stride"):
        assert str(found) == str(wanted), path
        return
    for fact in ("shape", "dtype", "requires_grad", "device"):
        assert str(getattr(found, fact)) == str(getattr(wanted, fact)), (path, fact)
    assert tuple(found.stride()) == tuple(wanted.stride()), path
    assert found.storage_offset() == wanted.storage_offset(), path
    if not wanted.is_meta and wanted.numel():
        assert bits(found) == bits(wanted), path


@pytest.mark.parametrize("options", [{}, {"mmap": True}, {"weights_only": False}], ids=str)
def test_torch_s_file_in_thunk(tmp_path: Path, options: dict[str, Any]) -> None:
    torch.save(contents(torch), tmp_path / "file.pt")
    wanted = torch.load(tmp_path / "file.pt")
    found = thunk.load(tmp_path / "file.pt", **options)
    assert_same(found, wanted)
    assert found["turned"].data_ptr() == found["base"].data_ptr()


@pytest.mark.parametrize("options", [{}, {"mmap": True}, {"weights_only": False}], ids=str)
def test_thunk_s_file_in_torch(tmp_path: Path, options: dict[str, Any]) -> None:
    thunk.save(contents(thunk), tmp_path / "file.pt")
    wanted = thunk.load(tmp_path / "file.pt")
    found = torch.load(tmp_path / "file.pt", **options)
    assert_same(found, wanted)
    assert found["turned"].data_ptr() == found["base"].data_ptr()


@pytest.mark.parametrize("weights_only", [True, False])
def test_the_format_before_1_6(weights_only: bool) -> None:
    file = io.BytesIO()
    torch.save(contents(torch), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert_same(thunk.load(file, weights_only=weights_only), contents(torch))


def test_the_records_are_torch_s() -> None:
    names = []
    for library in (torch, thunk):
        file = io.BytesIO()
        library.save({"w": library.ones(3)}, file)
        with zipfile.ZipFile(file) as archive:
            names.append(sorted(archive.namelist()))
            assert archive.read("archive/data.pkl").startswith(b"\x80\x02}q\x00")
    assert names[0] == names[1]


def test_the_pickle_says_the_same_as_torch_s() -> None:
    said = []
    for library in (torch, thunk):
        file = io.BytesIO()
        base = library.arange(6.0).reshape(2, 3)
        library.save({"w": base, "t": base.t(), "h": base.to(library.bfloat16)}, file)
        with zipfile.ZipFile(file) as archive:
            data = archive.read("archive/data.pkl")
        said.append([(op.name, argument) for op, argument, _ in pickletools.genops(data)
                     if not op.name.startswith(("BINPUT", "BINGET"))])  # fmt: skip
    theirs, ours = ([each for each in one if each[0] == "GLOBAL"] for one in said)
    assert ours == theirs


def test_conjugated_views_are_computed() -> None:
    file = io.BytesIO()
    values = torch.tensor([1 + 2j, 3 - 1j])
    torch.save([values.conj(), values.imag.neg()], file)
    file.seek(0)
    found = thunk.load(file)
    assert found[0].tolist() == values.conj().tolist()
    assert found[1].tolist() == [-2.0, 1.0]


def test_both_refuse_what_is_not_allowed() -> None:
    class Mine:
        pass

    globals()["Mine"] = Mine
    Mine.__qualname__ = "Mine"
    for writer in (torch, thunk):
        file = io.BytesIO()
        writer.save({"mine": Mine()}, file)
        for reader in (torch, thunk):
            file.seek(0)
            with pytest.raises(pickle.UnpicklingError, match="Mine"):
                reader.load(file)
            file.seek(0)
            with reader.serialization.safe_globals([Mine]):
                assert isinstance(reader.load(file)["mine"], Mine)
            file.seek(0)
            assert isinstance(reader.load(file, weights_only=False)["mine"], Mine)


@pytest.mark.parametrize("location", ["cpu", "meta", torch.device("cpu"), None])
def test_map_location(location: Any) -> None:
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    wanted = torch.load(file, map_location=location)
    file.seek(0)
    ours = thunk.device(str(location)) if isinstance(location, torch.device) else location
    assert str(thunk.load(file, map_location=ours).device) == str(wanted.device)
