"""Library calls: what a compiled program asks of oneDNN, of BLAS or of own kernels, in one form."""
