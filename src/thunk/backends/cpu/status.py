"""Enters: nothing. Leaves: what a program's status says besides the failures of its kernels.

Invariant: 0 means that nothing happened; positive numbers count a schedule's failures from 1.
"""

CALL_BACK_RAISED = -1
SKIPPED = -2  # did not run, because a run before it in the queue failed
LIBRARY_FAILED = 1 << 30
