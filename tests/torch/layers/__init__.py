"""Modules of `nn` compared with PyTorch's: what is compared, and with which arguments."""
