"""Elements and channels set to zero at random."""

from thunk.ops.dropout import dropout

__all__ = ["dropout"]
