"""Enters: nothing. Leaves: memory layouts and formats as named singletons, as in PyTorch."""

from __future__ import annotations

from typing import ClassVar


class _Named:
    __slots__ = ("name",)

    _known: ClassVar[dict[str, _Named]] = {}

    def __init__(self, name: str) -> None:
        self.name = name
        _Named._known[name] = self

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return _named, (self.name,)


def _named(name: str) -> _Named:
    return _Named._known[name]


class layout(_Named):
    """Strided or sparse storage. Only `strided` holds data here."""

    __slots__ = ()


class memory_format(_Named):
    """The order in which the dimensions of a dense tensor lie in memory."""

    __slots__ = ()


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
contiguous_format = memory_format("contiguous_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
preserve_format = memory_format("preserve_format")
