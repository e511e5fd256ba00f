"""Entries whose values cannot be compared bit by bit, each with its reason.

`RANDOM` is compared by structure, shape and dtype; `GAUGE` after the database's own processing,
since the plain result is defined only up to a sign or a phase.
"""

RANDOM = {
    "empty": "uninitialised memory",
    "empty_like": "uninitialised memory",
    "empty_strided": "uninitialised memory",
    "empty_permuted": "uninitialised memory",
    "new_empty": "uninitialised memory",
    "new_empty_strided": "uninitialised memory",
    "resize_": "uninitialised memory past the old size",
    "resize_as_": "uninitialised memory past the old size",
}

GAUGE = {
    "linalg.eig": "eigenvectors up to a phase",
    "linalg.eigh": "eigenvectors up to a phase",
    "linalg.svd": "singular vectors up to a phase",
    "svd": "singular vectors up to a phase",
    "svd_lowrank": "singular vectors up to a sign, random projection",
    "pca_lowrank": "singular vectors up to a sign, random projection",
}
