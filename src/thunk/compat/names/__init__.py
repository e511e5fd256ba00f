"""What PyTorch calls by names that mean something else inside Thunk, or that only scripts ask for.

Invariant: a module `a.b` here is what `torch.a.b` means; everything else is `thunk.a.b`.
"""

from thunk.compat.names import backends, compiler, types, version
from thunk.compat.versions import VERSION as __version__

__all__ = ["__version__", "backends", "compiler", "types", "version"]
