"""Passes over graphs, one module each; `compiler/pipeline.py` lists them in order."""
