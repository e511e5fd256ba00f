"""The operator oracle: torch's own operator test database as judge of thunk's operators.

In: the entries of `op_db` and a library with torch's names. Out: per entry, dtype and check a
verdict, the command that repeats it, and a table that fails below its stated floor.
"""
