"""Routing of operator calls: dispatch keys, computed tables, and the run-time path."""
