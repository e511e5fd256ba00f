"""Linear algebra, under PyTorch's names: `thunk.linalg.svd`, `thunk.linalg.norm`..."""

from typing import TYPE_CHECKING

from thunk.base.errors import LinAlgError as LinAlgError
from thunk.tensor.public import publish_module

if TYPE_CHECKING:
    from thunk._linalg import *  # noqa: F403

publish_module("linalg", globals())
