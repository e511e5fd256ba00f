"""What optimizers do to one parameter in one step, an elementwise operator each."""

from thunk.ops.update import moments, momentum, signs, squares

__all__ = ["moments", "momentum", "signs", "squares"]
