"""Debugging: what the framework decided and why, as text for people."""
