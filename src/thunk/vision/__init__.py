"""`thunk.vision`: datasets of pictures, transforms and utilities, under torchvision's names."""

from thunk.vision import datasets, io, transforms, utils

__all__ = ["datasets", "get_image_backend", "io", "set_image_backend", "transforms", "utils"]


def set_image_backend(backend: str) -> None:
    """Choose the library that reads pictures; there is one."""
    if backend != "PIL":
        raise ValueError(
            f"set_image_backend: Invalid backend '{backend}'. Options are 'PIL'; leave it out"
        )


def get_image_backend() -> str:
    """The library that reads pictures."""
    return "PIL"
