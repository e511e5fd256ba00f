"""oneDNN through its C interface: descriptors, primitives, and the calls made of them."""
