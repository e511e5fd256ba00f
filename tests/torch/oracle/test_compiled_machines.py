"""A few samples of many families where something is missing or other than usual.

In: options of a process of its own: narrower vectors, no oneDNN, no OpenMP, two threads. Out: the
compiled oracle finds every sample right there too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ENTRIES = (
    "add", "sigmoid", "exp", "tanh", "pow", "where", "sum", "mean", "var", "amax", "argmax",
    "cumsum", "sort", "softmax", "log_softmax", "mm", "bmm", "addmm", "nn.functional.linear",
    "nn.functional.conv1d", "nn.functional.conv2d", "nn.functional.conv3d",
    "nn.functional.conv_transpose2d", "nn.functional.max_pool2d", "nn.functional.avg_pool2d",
    "nn.functional.layer_norm", "nn.functional.embedding", "nn.functional.cross_entropy",
    "nn.functional.gelu", "nn.functional.scaled_dot_product_attention", "gather", "scatter_add",
    "index_select", "cat", "to", "nn.functional.interpolate",
)  # fmt: skip
MACHINES = {
    "without 512 bits": ({"THUNK_VECTORS": "256", "ONEDNN_MAX_CPU_ISA": "AVX2"}, ["--quiet"]),
    "without oneDNN": ({"THUNK_ONEDNN": "0"}, ["--quiet"]),
    "without OpenMP": ({"THUNK_OPENMP": "0"}, ["--quiet"]),
    "with two threads": ({}, ["--quiet", "--threads", "2"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
def test_samples_are_right(machine: str, tmp_path: Path) -> None:
    variables, options = MACHINES[machine]
    command = [sys.executable, "-m", "tests.torch.oracle.run_compiled", "--max-samples", "2",
               "--dtype", "float32", *options]
    command += [part for name in ENTRIES for part in ("--op", name)]
    environment = {**os.environ, **variables, "THUNK_CACHE_DIR": str(tmp_path),
                   "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True,
                         check=False)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-4000:]
