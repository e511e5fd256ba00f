"""Backends: what turns operators and graphs into values."""
