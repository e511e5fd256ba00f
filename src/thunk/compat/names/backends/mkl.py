"""`torch.backends.mkl`: Intel's mathematical library, which this build does not use."""

from __future__ import annotations

from types import TracebackType

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """Whether MKL is used: never."""
    return False


class verbose:
    """Print what MKL does inside a `with` block: nothing."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        return None
