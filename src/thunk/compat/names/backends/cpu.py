"""`torch.backends.cpu`: what the processor can do."""

from thunk.compat.processor import capability


def get_cpu_capability() -> str:
    """The widest vectors, in PyTorch's words: AVX512, AVX2, DEFAULT..."""
    return capability()
