"""`thunk.utils.tensorboard`: event files that TensorBoard shows; it need not be installed here."""

from thunk.utils.tensorboard.writer import SummaryWriter

__all__ = ["SummaryWriter"]
