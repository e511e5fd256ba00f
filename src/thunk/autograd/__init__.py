"""Autograd: recording, nodes, the engine, in-place and view semantics, custom functions."""
