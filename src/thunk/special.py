"""Special functions, under PyTorch's names: `thunk.special.erfcx`, `thunk.special.bessel_j0`..."""

from thunk.ops.public import publish_module

publish_module("special", globals())
