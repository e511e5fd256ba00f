"""The CPU backend: fused kernels in LLVM, library calls, one native program a graph."""
