"""`torch.torch_version`: the class of `torch.__version__`."""

from thunk.compat.versions import VERSION as __version__
from thunk.compat.versions import TorchVersion

__all__ = ["TorchVersion", "__version__"]
