"""The public place of `PythonDispatcher`, under the name that PyTorch gives it.

Enters and leaves: nothing but the class; its code is in `thunk.dispatch.python_dispatcher`.
"""

from thunk.dispatch.python_dispatcher import PythonDispatcher

__all__ = ["PythonDispatcher"]
