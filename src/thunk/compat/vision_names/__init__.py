"""What only scripts ask of torchvision; everything else is `thunk.vision`."""

from thunk.compat.versions import VISION_VERSION as __version__

__all__ = ["__version__"]


def disable_beta_transforms_warning() -> None:
    """Nothing here warns of beta transforms."""
