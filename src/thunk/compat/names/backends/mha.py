"""`torch.backends.mha`: the fast path of attention layers in inference."""

_fastpath = True


def get_fastpath_enabled() -> bool:
    """Whether the fast path may be taken; here every path is compiled alike."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Allow the fast path."""
    global _fastpath
    _fastpath = bool(value)
