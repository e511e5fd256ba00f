"""What only scripts ask of torchvision; everything else is `thunk.vision`."""

from thunk.compat.versions import VISION_VERSION as __version__

__all__ = ["__version__"]


def get_image_backend() -> str:
    """The library that reads pictures."""
    return "PIL"


def set_image_backend(backend: str) -> None:
    """Choose the library that reads pictures: PIL is the one there is."""
    if backend != "PIL":
        raise ValueError(f"set_image_backend: expected 'PIL', got {backend!r}")


def disable_beta_transforms_warning() -> None:
    """Nothing here warns of beta transforms."""
