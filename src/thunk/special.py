"""Special functions, under PyTorch's names: `thunk.special.erfcx`, `thunk.special.bessel_j0`..."""

from typing import TYPE_CHECKING

from thunk.tensor.public import publish_module

if TYPE_CHECKING:
    from thunk._special import *  # noqa: F403

publish_module("special", globals())
