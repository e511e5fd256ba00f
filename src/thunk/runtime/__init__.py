"""Runtime: storages, tensors as data, random number generators, backends and executables."""
