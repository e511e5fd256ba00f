"""Linear algebra: factorizations, systems of equations, spectra, norms."""

from thunk.ops.linalg import (
    cholesky,
    determinant,
    eigen,
    householder,
    ldl,
    lowrank,
    lstsq,
    lu,
    norms,
    parts,
    powers,
    qr,
    solve,
    svd,
    triangular,
)

__all__ = [
    "cholesky", "determinant", "eigen", "householder", "ldl", "lowrank", "lstsq", "lu", "norms",
    "parts", "powers", "qr", "solve", "svd", "triangular",
]  # fmt: skip
