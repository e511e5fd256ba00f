"""The version: written here only; the package's metadata and every cache key read it."""

__version__ = "0.1.0"
