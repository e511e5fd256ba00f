"""Special functions, under PyTorch's names: `thunk.special.erfcx`, `thunk.special.bessel_j0`..."""

from thunk.tensor.public import publish_module

publish_module("special", globals())
