"""One workload in one peer, in a process of its own: times of the first steps, and memory.

Enters: names on the command line. Leaves: one line of JSON. Invariant: nothing is imported before
the clock of the import runs, except the standard library.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

STEPS = 20
CACHES = {
    "thunk": "THUNK_CACHE_DIR",
    "compile": "TORCHINDUCTOR_CACHE_DIR",
    "jax": "JAX_COMPILATION_CACHE_DIR",
}


def highest_megabytes() -> float:
    """The most memory that this process has held."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("memory: expected VmHWM in /proc/self/status; run on Linux")


def measured(name: str, peer: str, quick: bool, weights: str) -> dict[str, float]:
    """Import, first step (with what the model's making takes), steady step, memory."""
    started = time.perf_counter()
    __import__({"compile": "torch"}.get(peer, peer))
    imported = time.perf_counter() - started
    import numpy

    import peers
    from workloads import WORKLOADS

    workload = WORKLOADS[name]
    sizes = workload.quick if quick else workload.sizes
    arrays = dict(numpy.load(weights).items())
    data = workload.data(sizes)
    before = highest_megabytes()
    started = time.perf_counter()
    work = peers.make(peer, workload, sizes, data, arrays)
    made = time.perf_counter() - started
    started = time.perf_counter()
    work.read(work.step())
    first = time.perf_counter() - started
    for _ in range(STEPS):
        last = work.step()
    work.read(last)
    started = time.perf_counter()
    for _ in range(STEPS):
        last = work.step()
    work.read(last)
    steady = (time.perf_counter() - started) / STEPS
    peak = highest_megabytes()
    return {
        "import": imported, "made": made, "first": first, "steady": steady,
        "peak_megabytes": peak, "grown_megabytes": peak - before,
    }  # fmt: skip


def in_processes(name: str, peer: str, quick: bool, weights: Path) -> dict[str, dict[str, float]]:
    """Twice in fresh processes: with an empty folder of compiled code, and with a full one."""
    import peers

    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **peers.SETTINGS}
        if peer in CACHES:
            environment[CACHES[peer]] = folder
        command = [sys.executable, __file__, name, peer, str(weights)] + ["--quick"] * quick
        found: dict[str, Any] = {}
        for kind in ("cold", "warm"):
            run = subprocess.run(command, env=environment, capture_output=True, text=True)
            if run.returncode:
                last = run.stderr.strip().splitlines()[-1:]
                found[kind] = {"error": " ".join(last)}
                continue
            found[kind] = json.loads(run.stdout.splitlines()[-1])
        return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload")
    parser.add_argument("peer")
    parser.add_argument("weights")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    print(json.dumps(measured(chosen.workload, chosen.peer, chosen.quick, chosen.weights)))
