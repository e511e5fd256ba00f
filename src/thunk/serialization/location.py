"""Enters: `map_location` and where a storage was. Leaves: the storage, where it shall be.

Invariant: what was saved on a device that is not here is refused, never moved without being asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.runtime.storage import Storage
from thunk.tensor.storage import TypedStorage, UntypedStorage, storage_of
from thunk.types.device import device

Restore = Callable[[UntypedStorage, str], UntypedStorage]
Tagger = Callable[[Any], str | None]
Deserializer = Callable[[Any, str], Any]

_packages: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Teach `save` and `load` a location: asked in order of priority, None means not mine."""
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda entry: entry[0])


def location_tag(storage: Any) -> str:
    """Under which name a storage's place is stored."""
    for _, tagger, _ in _packages:
        found = tagger(storage)
        if found:
            return found
    raise RuntimeError(
        f"location_tag: expected a storage on a known device, got {type(storage).__name__}"
    )


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage at `location`."""
    for _, _, deserializer in _packages:
        found = deserializer(storage, location)
        if found is not None:
            return found
    kind = location.partition(":")[0]
    raise RuntimeError(
        f"load: expected a location this build has (cpu, meta), got a storage of {location!r}: "
        f"Attempting to deserialize object on a {kind.upper()} device but "
        f"torch.{kind}.is_available() is False; pass map_location=torch.device('cpu')"
    )


def _tag(storage: Any) -> str | None:
    kind = storage.device.type
    return str(kind) if kind in ("cpu", "meta") else None


def _restore(storage: Any, location: str) -> Any:
    if location == "cpu" or location.partition(":")[0] == "lazy":
        return storage
    return storage_of(Storage(None)) if location == "meta" else None


register_package(10, _tag, _restore)


def restorer(map_location: Any) -> Restore:
    """What `map_location` asks for, as a function of storage and stored location."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(
            storage, str(map_location.get(location, location))
        )
    if isinstance(map_location, bytes):
        map_location = map_location.decode()
    if isinstance(map_location, (str, device)):
        wanted = str(device(map_location))
        return lambda storage, _: default_restore_location(storage, wanted)
    if not callable(map_location):
        raise TypeError(
            "load: expected map_location to be a device, a string, a dict or a function, got "
            f"{type(map_location).__name__}"
        )

    def restore(storage: UntypedStorage, location: str) -> Any:
        found = map_location(storage, location)
        if isinstance(found, TypedStorage):
            found = found.untyped()
        return default_restore_location(storage, location) if found is None else found

    return restore
