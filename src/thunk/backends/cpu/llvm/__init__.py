<<<<<<< HEAD
"""Vector code for the CPU, written as LLVM's intermediate language."""
=======
"""Native code: vector IR for loop nests, compiled by LLVM, loaded and kept on disk."""
>>>>>>> b2967d3 (Compile elementwise graphs to fused native kernels)
