"""The reference backend: one NumPy rule a primitive. It is the eager mode, the oracle, the fallback."""
