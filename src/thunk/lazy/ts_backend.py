"""PyTorch's lazy tensors need a backend to be chosen; here there is nothing to do."""


def init() -> None:
    """Changes nothing."""
