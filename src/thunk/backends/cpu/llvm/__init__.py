"""Vector code for the CPU, written as LLVM's intermediate language."""
