"""Enters: specs. Leaves: built calls, by the best provider that there is.

Invariant: a call that is built computes its spec; who serves it is written in its text.
"""

from __future__ import annotations

from thunk.backends.cpu.calls.call import LibraryCall
from thunk.backends.cpu.calls.specs import CallSpec
from thunk.backends.cpu.onednn.call import OneDnnCall


def build(spec: CallSpec) -> LibraryCall:
    """The call that serves `spec`."""
    return OneDnnCall(spec)
