"""A folder for the search path of processes that a script starts, so that they get the shim too.

Enters: `import torch` or `import torchvision` in a child. Leaves: Thunk under that name.
"""
