"""`torch.__config__`: how this build was made, as text."""

from thunk.base.version import __version__
from thunk.compat.processor import capability, model
from thunk.tensor.settings import get_num_interop_threads, get_num_threads


def show() -> str:
    """What was built."""
    return f"Thunk {__version__}\n  - CPU capability usage: {capability()}\n  - {model()}"


def parallel_info() -> str:
    """How many threads are used."""
    return f"get_num_threads() : {get_num_threads()}\ninterop: {get_num_interop_threads()}"
