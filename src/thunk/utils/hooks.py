"""Enters: hooks. Leaves: handles that take them back."""

from thunk.autograd.node import RemovableHandle

__all__ = ["RemovableHandle"]
