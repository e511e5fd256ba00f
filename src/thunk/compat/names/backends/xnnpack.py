"""`torch.backends.xnnpack`: a library that this build does not use."""

enabled = False
