"""A file's pickle is read without running what it names."""

import io
import os
import pickle
import pickletools
import zipfile
from collections import Counter, OrderedDict, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies

import thunk
from thunk.runtime.storage import allocate
from thunk.serialization import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    get_unsafe_globals_in_checkpoint,
    safe_globals,
)
from thunk.serialization.loading import storage_reference
from thunk.serialization.machine import Machine
from thunk.serialization.pickler import Storages, pickled
from thunk.tensor.storage import TypedStorage, storage_of


def checkpoint(data: bytes) -> io.BytesIO:
    """A checkpoint whose `data.pkl` is anything."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/version", b"3\n")
    file.seek(0)
    return file


class Attack:
    """Pickles as a call."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = (function, args)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_malicious_file_is_refused_and_not_run(tmp_path: Path, protocol: int) -> None:
    target = tmp_path / "ran"
    data = pickle.dumps({"weights": Attack(os.system, f"touch {target}")}, protocol)
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL (posix|nt)\.system"):
        thunk.load(checkpoint(data))
    assert not target.exists()


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (eval, "builtins.eval"),
        (exec, "builtins.exec"),
        (getattr, "builtins.getattr"),
        (__import__, "builtins.__import__"),
        (Fraction, "fractions.Fraction"),
        (thunk.load, "load"),
    ],
)
def test_the_refused_global_and_the_remedy_are_named(function: Any, name: str) -> None:
    with pytest.raises(pickle.UnpicklingError) as caught:
        thunk.load(checkpoint(pickle.dumps(Attack(function, "1"), 4)))
    assert name in str(caught.value)
    assert "add_safe_globals" in str(caught.value)
    assert "weights_only=False" in str(caught.value)


def test_a_blocked_module_stays_blocked() -> None:
    data = pickle.dumps(Attack(os.system, "true"), 2)
    with (
        safe_globals([(os.system, "posix.system")]),
        pytest.raises(pickle.UnpicklingError, match="no list can allow"),
    ):
        thunk.load(checkpoint(data))


@pytest.mark.parametrize(
    "attack",
    [
        b"\x80\x02ccollections\nOrderedDict\n}X\x01\x00\x00\x00aK\x01sb.",  # a state for a class
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x01\x00\x00\x00aK\x01sb.",
        b"\x80\x02X\x01\x00\x00\x00aX\x01\x00\x00\x00b\x85R.",  # a call of a string
        b"\x80\x02(X\x01\x00\x00\x00acposix\nsystem\no.",  # OBJ
        b"(S'true'\niposix\nsystem\n.",  # INST
        b"\x80\x02\x82\x01.",  # EXT1
        b"Pstorage\n.",  # a persistent id as text
        b"\x80\x02X\x01\x00\x00\x00aQ.",  # a reference to no storage
        b"\x80\x02X\x01\x00\x00\x00aK\x01a.",  # append to a string
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nK\x01K\x01s.",  # items of a function
        b"\x80\x02h\x07.",  # an unknown memo
        b"\x80\x02t.",  # no mark
        b"\x80\x02K\x01",  # cut short
        b"",
        b"nonsense",
    ],
)
def test_malformed_and_abusive_pickles_are_refused(attack: bytes) -> None:
    before = dict(vars(thunk.serialization.rebuild.rebuild_tensor_v2))
    with pytest.raises(pickle.UnpicklingError):
        thunk.load(checkpoint(attack))
    assert vars(thunk.serialization.rebuild.rebuild_tensor_v2) == before
    assert not hasattr(OrderedDict, "a")


PLAIN = [
    None, True, 3, -1, 2**70, 2.5, "text", "ü\n", b"bytes", bytearray(b"more"), 1 + 2j, (), (1,),
    (1, 2, 3, 4), [1, [2]], {"a": {"b": 1}}, {1, 2}, frozenset({3}), OrderedDict(a=1, b=2),
    Counter("aab"), defaultdict(list, a=[1]), slice(1, 2),
]  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_data_round_trips(value: Any, protocol: int) -> None:
    file = io.BytesIO()
    thunk.save(value, file, pickle_protocol=protocol)
    file.seek(0)
    found = thunk.load(file)
    assert type(found) is type(value)
    assert found == value


@pytest.mark.parametrize("bomb", [Attack(bytes, 2**40), Attack(bytearray, 2**40), range(2**40)])
def test_no_memory_is_made_for_nothing(bomb: Any) -> None:
    with pytest.raises(pickle.UnpicklingError):
        thunk.load(checkpoint(pickle.dumps(bomb, 2)))


def test_old_protocols_are_read() -> None:
    for protocol in (0, 1):
        data = pickle.dumps({"a": [1, 2.5, "x", (None, True)], "b": {"c": 10**30}}, protocol)
        assert thunk.load(checkpoint(data)) == {
            "a": [1, 2.5, "x", (None, True)],
            "b": {"c": 10**30},
        }


def test_recursive_and_shared_objects() -> None:
    shared = [1]
    loop: list[Any] = [shared, shared]
    loop.append(loop)
    file = io.BytesIO()
    thunk.save(loop, file)
    file.seek(0)
    found = thunk.load(file)
    assert found[0] is found[1]
    assert found[2] is found


def sample() -> bytes:
    """A pickle with tensors, containers and a module."""
    storages = Storages()
    layer = thunk.nn.Linear(2, 1)
    value = {"w": thunk.arange(6.0).reshape(2, 3).t(), "l": [1, {"a": (None, 2.5)}], "m": layer}
    return pickled(value, 2, storages)


@settings(max_examples=300)
@given(data=strategies.data())
def test_a_damaged_pickle_is_refused_or_harmless(data: strategies.DataObject) -> None:
    """Bytes changed at random never run anything else, never hang, never crash."""
    whole = bytearray(sample())
    for _ in range(data.draw(strategies.integers(1, 4))):
        place = data.draw(strategies.integers(2, len(whole) - 1))
        whole[place] = data.draw(strategies.integers(0, 255))
    memory = thunk.runtime.storage.Storage(allocate(64))

    def storage(saved: Any) -> Any:
        kind, *_ = storage_reference(saved, 5)
        return TypedStorage(storage_of(memory), kind.dtype)

    try:
        Machine(storage).load(io.BytesIO(bytes(whole)))
    except (pickle.UnpicklingError, RuntimeError, ValueError, TypeError, UnicodeDecodeError):
        return


class Settings:
    """A class of the user's."""

    def __init__(self, size: int) -> None:
        self.size = size


def test_classes_are_allowed_one_by_one() -> None:
    file = io.BytesIO()
    thunk.save({"settings": Settings(3)}, file)
    file.seek(0)
    name = f"{Settings.__module__}.Settings"
    assert get_unsafe_globals_in_checkpoint(file) == [name]
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Settings"):
        thunk.load(file)
    file.seek(0)
    with safe_globals([Settings]):
        assert thunk.load(file)["settings"].size == 3
    assert Settings not in get_safe_globals()
    file.seek(0)
    add_safe_globals([(Settings, name)])
    try:
        assert thunk.load(file)["settings"].size == 3
    finally:
        clear_safe_globals()
    file.seek(0)
    assert thunk.load(file, weights_only=False)["settings"].size == 3


def test_allowing_text_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="functions and classes"):
        add_safe_globals(["os.system"])
    with pytest.raises(ValueError, match="pairs"):
        add_safe_globals([("os.system", os.system)])


def test_globals_are_named_as_in_torch() -> None:
    file = io.BytesIO()
    thunk.save([thunk.ones(2), thunk.ones(2).to(thunk.uint16), thunk.Size([1]), thunk.int8], file)
    with zipfile.ZipFile(file) as archive:
        data = archive.read("archive/data.pkl")
    named = {argument for op, argument, _ in pickletools.genops(data) if op.name == "GLOBAL"}
    assert named == {
        "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_tensor_v3", "torch FloatStorage",
        "torch.storage UntypedStorage", "torch uint16", "torch int8", "torch Size",
        "collections OrderedDict",
    }  # fmt: skip
