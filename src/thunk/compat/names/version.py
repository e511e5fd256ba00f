"""`torch.version`: what was built, as scripts ask for it. No accelerator is built in."""

from thunk.compat.versions import VERSION

__version__ = VERSION
debug = False
cuda: str | None = None
hip: str | None = None
xpu: str | None = None
rocm: str | None = None
git_version = "unknown"

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]
