"""Tools beside the modules of neural networks."""

from thunk.nn.utils import rnn

__all__ = ["rnn"]
