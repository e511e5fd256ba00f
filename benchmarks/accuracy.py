"""`python benchmarks/accuracy.py`: how exact vector functions are, beside PyTorch's.

    python benchmarks/accuracy.py --write          writes docs/numerics.md from samples
    python benchmarks/accuracy.py --all exp tanh   all 2**32 float32 numbers, a minute a function
    python benchmarks/accuracy.py --all --write    the same of every function, kept in the page
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import numpy  # noqa: E402

import vector_kernels  # noqa: E402
import vector_references  # noqa: E402
from thunk.backends.cpu.llvm.math import vector_functions  # noqa: E402

PAGE = ROOT / "docs/numerics.md"
SAMPLES, SLOW_SAMPLES = 400_000, 6_000
WIDTH = {numpy.float32: 16, numpy.float64: 8}
BLOCK = 1 << 24
HEADER = """# Numerics

The compiled kernels' functions (`backends/cpu/llvm/math`) are straight-line vector code without
fast-math flags: infinities, NaN, signed zeros and subnormal numbers go where IEEE and PyTorch send
them, whatever the vector width. `python benchmarks/accuracy.py --write` wrote this page.

Errors are in units of the last place of the exact result, the largest of {samples} inputs (special
numbers, random bits, usual sizes; fewer for those compared with `mpmath`). Results below 1024 times
the smallest normal number are measured in that one's units. Two-operand functions take such inputs
for both; `softplus` and `elu` have their usual parameters. Large numbers stand where a formula
cancels or its result underflows to zero early. PyTorch {torch}.

| function | float32 | PyTorch | float64 | PyTorch |
|---|---|---|---|---|
"""

ALL = """
## All float32 numbers

The largest error over all 2**32 of them, against the function in double precision, in units of the
last place (below 2**-116 in that number's): `python benchmarks/accuracy.py --all --write`.

| function | error | at |
|---|---|---|
"""


def peers() -> dict[str, Any]:
    """PyTorch's functions by the emitters' names."""
    import torch

    functional = torch.nn.functional
    found = {name: getattr(torch, name) for name in vector_functions if hasattr(torch, name)}
    for name in ("silu", "mish", "gelu", "elu", "softplus"):
        found[name] = getattr(functional, name)
    found["log_sigmoid"] = functional.logsigmoid
    found["gelu_tanh"] = lambda x: functional.gelu(x, approximate="tanh")
    for name in vector_functions:
        if name.startswith("special_"):
            found[name] = getattr(torch.special, name.removeprefix("special_"))
    found["softplus"] = lambda x, beta, limit: functional.softplus(x, 1.0, 20.0)
    found["elu"] = lambda x, *_: functional.elu(x)
    return found


def operands_of(name: str, count: int, dtype: Any, samples: int) -> list[Any]:
    operands = [vector_references.samples(dtype, samples, 11 + each) for each in range(count)]
    fixed = {"softplus": (1.0, 20.0), "elu": (1.0, 1.0, 1.0)}.get(name, ())
    operands[1:] = [numpy.full_like(operands[0], value) for value in fixed] or operands[1:]
    return operands


def worst(result: Any, exact: Any) -> float:
    least = 1024 * float(numpy.finfo(result.dtype).tiny)
    errors = vector_references.ulps(result, exact, least)
    normal = numpy.isfinite(exact) & (abs(exact) <= numpy.finfo(result.dtype).max) & (exact != 0)
    return float(errors[normal & numpy.isfinite(result)].max())


def row(name: str, reference: Any, peer: Any) -> str:
    import torch

    cells = [f"`{name}`"]
    for dtype in (numpy.float32, numpy.float64):
        samples = SLOW_SAMPLES if reference.slow else SAMPLES
        operands = operands_of(name, reference.operands, dtype, samples)
        emit = vector_functions[name]
        run = vector_kernels.compile_function(emit, reference.operands, dtype, WIDTH[dtype])
        with numpy.errstate(all="ignore"):
            exact = reference.function(*(each.astype(numpy.longdouble) for each in operands))
        cells.append(f"{worst(run(*operands), exact):.2f}")
        if peer is None:
            cells.append("-")
            continue
        theirs = peer(*(torch.from_numpy(each) for each in operands)).numpy()
        error = worst(theirs, exact)
        cells.append(f"{error:.2f}" if error < 1000 else f"{error:.0e}")
    return "| " + " | ".join(cells) + " |"


def page() -> str:
    import torch

    known, functions = vector_references.references(), peers()
    lines = [
        row(name, known[name], functions.get(name))
        for name in sorted(known)
        if not name.endswith("_backward")
    ]
    return HEADER.format(samples=f"{SAMPLES:,}", torch=torch.__version__) + "\n".join(lines) + "\n"


def rows_of_all() -> dict[str, str]:
    """The page's rows on all float32 numbers, by function."""
    _, _, rows = PAGE.read_text(encoding="utf-8").partition(ALL)
    return {line.split("`")[1]: line for line in rows.splitlines() if line.startswith("| `")}


def written(page: str, rows: dict[str, str]) -> str:
    """The page with these rows on all float32 numbers at its end."""
    plain = page.partition(ALL)[0]
    return plain + ALL + "".join(f"{rows[name]}\n" for name in sorted(rows))


def check_all(names: list[str], write: bool) -> None:
    """Every float32 number, judged by the float64 function."""
    for name in names:
        judge = vector_kernels.worst_of_range(name, least=2.0**-116)
        start = time.perf_counter()
        error, where = max(judge(first, BLOCK) for first in range(0, 1 << 32, BLOCK))
        seconds = time.perf_counter() - start
        print(f"{name:16} {error:8.3f} ulp at {where!r:24} {seconds:6.1f} s", flush=True)
        if write:
            rows = rows_of_all() | {name: f"| `{name}` | {error:.3f} | {where!r} |"}
            PAGE.write_text(written(PAGE.read_text("utf-8"), rows), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write docs/numerics.md")
    parser.add_argument("--all", nargs="*", metavar="NAME", help="all float32 numbers")
    chosen = parser.parse_args()
    if chosen.all is not None:
        one = [name for name, each in vector_references.references().items() if each.operands == 1]
        check_all(chosen.all or one, chosen.write)
        return
    text = page()
    if chosen.write:
        PAGE.write_text(written(text, rows_of_all()), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
