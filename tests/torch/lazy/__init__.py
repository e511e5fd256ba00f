"""Scenarios of lazy execution, through public names alone, beside eager runs and PyTorch."""
