"""Checkpoints keep values, layout and sharing; a write is whole or did not happen."""

import io
import os
import pickle
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

import thunk
from thunk.serialization import safetensors
from thunk.types.dtype import all_dtypes


def again(value: Any, **options: Any) -> Any:
    file = io.BytesIO()
    thunk.save(value, file)
    file.seek(0)
    return thunk.load(file, **options)


@pytest.mark.parametrize("element", all_dtypes(), ids=str)
def test_every_dtype(element: Any) -> None:
    tensor = thunk.tensor([[0, 1, 2], [3, 4, 5]]).to(element)
    found = again(tensor)
    assert found.dtype is element
    assert found.tolist() == tensor.tolist()


def test_shared_memory_stays_shared() -> None:
    base = thunk.arange(12.0).reshape(3, 4)
    found = again({"base": base, "turned": base.t(), "part": base[1:, 1:], "same": base})
    assert found["same"] is found["base"]
    assert found["turned"].stride() == (1, 4)
    assert found["part"].storage_offset() == 5
    found["base"][1, 1] = 100.0
    assert found["turned"][1, 1].item() == 100.0
    assert found["part"][0, 0].item() == 100.0


def test_a_view_alone_brings_its_whole_storage() -> None:
    found = again(thunk.arange(1000.0)[:2])
    assert found.tolist() == [0.0, 1.0]
    assert found.untyped_storage().nbytes() == 4000


def test_one_memory_as_two_dtypes_is_refused() -> None:
    tensor = thunk.ones(2)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        thunk.save([tensor, tensor.view(thunk.int32)], io.BytesIO())


def test_storages_flags_and_attributes() -> None:
    tensor = thunk.ones(2, requires_grad=True)
    named = thunk.ones(2)
    named.label = "kept"
    found = again([tensor, named, thunk.ones(2).untyped_storage(), thunk.device("cpu", 0)])
    assert found[0].requires_grad
    assert found[1].label == "kept"
    assert found[2].nbytes() == 8
    assert found[3] == thunk.device("cpu", 0)


def test_a_result_is_saved_as_a_leaf() -> None:
    result = thunk.ones(2, requires_grad=True) * 2
    found = again(result)
    assert found.requires_grad
    assert found.is_leaf


def test_hooks_are_not_saved_and_said_so() -> None:
    tensor = thunk.ones(2, requires_grad=True)
    tensor.register_hook(lambda grad: None)
    with pytest.warns(UserWarning, match="hooks"):
        again(tensor)


def test_empty_scalar_and_meta() -> None:
    found = again([thunk.ones(0, 3), thunk.tensor(3.0), thunk.empty(2, 3, device="meta")])
    assert found[0].shape == (0, 3)
    assert found[1].item() == 3.0
    assert found[2].is_meta
    assert found[2].shape == (2, 3)


@pytest.mark.parametrize(
    "place", ["cpu", thunk.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage]
)
def test_map_location(place: Any) -> None:
    assert again(thunk.ones(2), map_location=place).tolist() == [1.0, 1.0]


def test_map_location_to_meta_and_elsewhere() -> None:
    assert again(thunk.ones(2), map_location="meta").is_meta
    with pytest.raises(RuntimeError, match=r"map_location=torch.device\('cpu'\)"):
        again(thunk.ones(2), map_location="cuda")
    with pytest.raises(TypeError, match="map_location"):
        again(thunk.ones(2), map_location=3.5)


def test_map_location_hears_of_every_storage_once() -> None:
    heard = []

    def note(storage: Any, location: str) -> Any:
        heard.append((storage.nbytes(), location))

    tensor = thunk.ones(2)
    again([tensor, tensor[:1], thunk.ones(3)], map_location=note)
    assert heard == [(8, "cpu"), (12, "cpu")]


def test_mapped_memory_is_private(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    thunk.save({"w": thunk.arange(4.0)}, path)
    before = path.read_bytes()
    found = thunk.load(path, mmap=True)["w"]
    assert found.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert found.data_ptr() % 64 == 0
    found.add_(1)
    assert found.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="mmap"):
        thunk.load(io.BytesIO(before), mmap=True)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    thunk.save(thunk.ones(2), path)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        thunk.save({"w": thunk.ones(3), "f": lambda: None}, path)
    assert thunk.load(path).tolist() == [1.0, 1.0]

    good, bad = thunk.ones(4), thunk.ones(2)
    storage = bad.untyped_storage().memory
    storage._data = object()  # the write fails after the pickle is done
    with pytest.raises((TypeError, AttributeError)):
        thunk.save([good, bad], path)
    assert thunk.load(path).tolist() == [1.0, 1.0]
    assert [each.name for each in tmp_path.iterdir()] == ["weights.pt"]


def test_permissions_and_links_survive(tmp_path: Path) -> None:
    path, link = tmp_path / "weights.pt", tmp_path / "latest.pt"
    thunk.save(1, path)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o600)
    link.symlink_to(path)
    thunk.save(2, link)
    assert link.is_symlink()
    assert thunk.load(path) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    thunk.save(3, os.devnull)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="Parent directory"):
        thunk.save(1, tmp_path / "none" / "weights.pt")
    with pytest.raises(FileNotFoundError):
        thunk.load(tmp_path / "none.pt")


def changed(record: str, content: bytes | None) -> io.BytesIO:
    """A checkpoint with one record replaced, or left out."""
    source, made = io.BytesIO(), io.BytesIO()
    thunk.save(thunk.arange(3.0), source)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            data = content if name.endswith("/" + record) else old.read(name)
            if data is not None:
                new.writestr(name, data)
    made.seek(0)
    return made


def test_damaged_and_foreign_files() -> None:
    with pytest.raises(RuntimeError, match="big"):
        thunk.load(changed("byteorder", b"big"))
    with pytest.raises(RuntimeError, match="12 bytes"):
        thunk.load(changed("data/0", b"1234"))
    with pytest.raises(RuntimeError, match="record data/0"):
        thunk.load(changed("data/0", None))
    with pytest.raises(RuntimeError, match=r"data\.pkl"):
        thunk.load(changed("data.pkl", None))
    with pytest.raises(RuntimeError, match="TorchScript"):
        thunk.load(with_record("constants.pkl"))
    with pytest.raises(pickle.UnpicklingError):
        thunk.load(io.BytesIO(b"not a checkpoint"))
    with pytest.raises(AttributeError, match="seek"):
        thunk.load(3)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="write"):
        thunk.save(1, 3)  # type: ignore[arg-type]


def with_record(name: str) -> io.BytesIO:
    made = io.BytesIO()
    thunk.save(1, made)
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr(f"archive/{name}", b"")
    made.seek(0)
    return made


def test_a_file_that_was_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    thunk.save({"weight": thunk.ones(100)}, path)
    whole = path.read_bytes()
    for length in (len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(RuntimeError, match="cut short or damaged"):
            thunk.load(path)


def test_records_are_aligned(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    thunk.save([thunk.ones(n) for n in range(1, 9)], path)
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            assert info.compress_type == zipfile.ZIP_STORED
            start = info.header_offset + 30 + len(info.filename) + len(info.extra)
            assert start % 64 == 0


def test_a_pickler_of_the_user_s_choice() -> None:
    file = io.BytesIO()
    value = {"w": thunk.ones(2), "n": thunk.ones(2).to(thunk.uint16), "d": thunk.int8}

    class Choice:
        Pickler = pickle.Pickler
        Unpickler = pickle.Unpickler

    thunk.save(value, file, pickle_module=Choice)
    file.seek(0)
    found = thunk.load(file, pickle_module=Choice)
    assert found["w"].tolist() == [1.0, 1.0]
    assert found["n"].dtype is thunk.uint16
    assert found["d"] is thunk.int8
    with pytest.raises(RuntimeError, match="pickle_module"):
        thunk.load(file, pickle_module=Choice, weights_only=True)


def test_the_environment_can_insist(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO()
    thunk.save([thunk.ones(1)], file)
    file.seek(0)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    assert thunk.load(file, weights_only=False)[0].item() == 1.0
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="unset one"):
        thunk.load(file)


def test_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    kinds = [kind for kind in all_dtypes() if kind is not thunk.complex128]
    tensors = {kind.name: thunk.tensor([[0, 1], [2, 3]]).to(kind).t() for kind in kinds}
    tensors["empty"] = thunk.ones(0, 2)
    safetensors.save_file(tensors, path, {"format": "pt"})
    for found in (safetensors.load_file(path), thunk.load(path)):
        assert sorted(found) == sorted(tensors)
        for name, tensor in tensors.items():
            assert found[name].dtype is tensor.dtype
            assert found[name].tolist() == tensor.tolist()
    shared = thunk.ones(3)
    with pytest.raises(RuntimeError, match="share no memory"):
        safetensors.save({"a": shared, "b": shared[1:]})
    with pytest.raises(ValueError, match="dtype of the format"):
        safetensors.save({"a": thunk.ones(1).to(thunk.complex128)})
    with pytest.raises(ValueError, match="expected tensors"):
        safetensors.save({"a": 3})
