"""`python benchmarks/micro/vector_math.py [NAME ...]`: vector functions beside NumPy and PyTorch.

Nanoseconds an element on one thread, arrays in cache; the ways take turns, the least time counts.
"""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "benchmarks")]

import numpy  # noqa: E402
import torch  # noqa: E402

import accuracy  # noqa: E402
import timing  # noqa: E402
import vector_kernels  # noqa: E402
import vector_references  # noqa: E402
from thunk.backends.cpu.llvm.math import vector_functions  # noqa: E402

SIZE = 1 << 15
NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
         "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2", "pow": "power"}  # fmt: skip


def operands_of(name: str, count: int, dtype: Any) -> list[Any]:
    """Numbers for which every function has a value."""
    generator = numpy.random.default_rng(0)
    low, high = (1.05, 4.0) if name == "acosh" else (0.01, 0.99)
    operands = [generator.uniform(low, high, SIZE).astype(dtype) for _ in range(count)]
    fixed = {"softplus": (1.0, 20.0), "elu": (1.0, 1.0, 1.0)}.get(name, ())
    operands[1:] = [numpy.full_like(operands[0], value) for value in fixed] or operands[1:]
    return operands


def ways(name: str, count: int, dtype: Any) -> dict[str, timing.Way]:
    operands = operands_of(name, count, dtype)
    out = numpy.empty_like(operands[0])
    native = vector_kernels.compile_function(
        vector_functions[name], count, dtype, 16 if dtype is numpy.float32 else 8
    )
    found: dict[str, timing.Way] = {"thunk": lambda: native(*operands, out=out)}
    ufunc = getattr(numpy, NUMPY.get(name, name), None)
    if isinstance(ufunc, numpy.ufunc):
        found["numpy"] = lambda: ufunc(*operands, out=out)
    peer = accuracy.peers().get(name)
    if peer is not None:
        tensors = [torch.from_numpy(each) for each in operands]
        found["torch"] = lambda: peer(*tensors)
    return found


def main() -> None:
    torch.set_num_threads(1)
    known = vector_references.references()
    names = sys.argv[1:] or sorted(name for name in known if not name.endswith("_backward"))
    print(f"{'':18}{'float32':>8}{'numpy':>8}{'torch':>8}  {'float64':>8}{'numpy':>8}{'torch':>8}")
    for name in names:
        cells = []
        for dtype in (numpy.float32, numpy.float64):
            least = timing.interleaved(ways(name, known[name].operands, dtype), 9, 0.002)
            for way in ("thunk", "numpy", "torch"):
                cells.append(f"{least[way] / SIZE * 1e9:8.2f}" if way in least else f"{'-':>8}")
        print(f"{name:18}" + "".join(cells[:3]) + "  " + "".join(cells[3:]), flush=True)


if __name__ == "__main__":
    main()
