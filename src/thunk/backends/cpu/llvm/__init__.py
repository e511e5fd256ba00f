"""Native code: vector IR for loop nests, compiled by LLVM, loaded and kept on disk."""
