"""Linear algebra, under PyTorch's names: `thunk.linalg.svd`, `thunk.linalg.norm`..."""

from thunk.base.errors import LinAlgError as LinAlgError
from thunk.tensor.public import publish_module

publish_module("linalg", globals())
