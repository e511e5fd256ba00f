"""Utilities with PyTorch's names that belong to no other layer."""
