"""Compatibility: `import torch` and `import torchvision` give Thunk, after `install()`.

Enters: PyTorch's module names. Leaves: Thunk's own modules under them, the same objects.
"""

from thunk.compat.finder import install, is_installed, uninstall

__all__ = ["install", "is_installed", "uninstall"]
