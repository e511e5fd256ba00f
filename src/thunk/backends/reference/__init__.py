"""The reference backend: one NumPy rule a primitive; eager mode, oracle and fallback."""
