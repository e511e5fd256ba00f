"""Enters: nothing. Leaves: the codes by which a kernel says why a program must fail.

Invariant: 0 means that nothing happened; a code names one message.
"""

INDEX_OUT_OF_RANGE = 1
ZERO_DIVISOR = 2
TARGET_OUT_OF_RANGE = 3
CALL_BACK_RAISED = -1
LIBRARY_FAILED = 1 << 30
