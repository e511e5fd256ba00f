"""The public Tensor: its class, its generated methods, indexing, conversion and printing."""
