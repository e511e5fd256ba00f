"""Public home of activation checkpointing (`thunk.utils.checkpoint`)."""

from thunk.autograd.checkpoint import CheckpointError, checkpoint, checkpoint_sequential

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential"]
