"""The CPU backend: lowerings by family, native kernels, library calls, one program a graph."""
