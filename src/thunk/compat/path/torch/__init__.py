"""`torch` on the search path of processes that a script started: becomes Thunk."""

from thunk.compat import install

__thunk__ = True

install()
