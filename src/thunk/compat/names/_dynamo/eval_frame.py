"""`torch._dynamo.eval_frame`: the class of compiled modules, of which there are none."""

from thunk.nn.modules.module import Module


class OptimizedModule(Module):
    """What PyTorch's `compile` makes of a module; ours leaves modules as they are."""
