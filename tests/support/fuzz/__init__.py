"""Random whole programs in PyTorch's language: made, run, judged, shrunk and written down.

A program is a list of (kind, source) pairs of text, so it prints, shrinks and replays as it is.
"""
