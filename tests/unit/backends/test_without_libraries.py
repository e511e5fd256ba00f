"""A machine without libgomp.so.1 and oneDNN: loading them fails, and everything else works.

In: processes of their own, in which no library of these names can be loaded. Out: compiled
products, convolutions, training steps, the demo and the compiler's tests agree and pass.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ABSENT = """
import ctypes, importlib.metadata
from pathlib import Path

class CDLL(ctypes.CDLL):
    def __init__(self, name, *args, **options):
        if any(word in str(name) for word in ("gomp", "dnnl")):
            raise OSError(f"{name}: cannot open shared object file: No such file or directory")
        super().__init__(name, *args, **options)

def distribution(name, known=importlib.metadata.distribution):
    if "onednn" in name:
        raise importlib.metadata.PackageNotFoundError(name)
    return known(name)

ctypes.CDLL = CDLL
importlib.metadata.distribution = distribution
"""
AFTERWARDS = """
loaded = Path("/proc/self/maps").read_text()
assert "gomp" not in loaded and "dnnl" not in loaded, "a library was loaded after all"
"""
STEP = """
import numpy, thunk
from thunk.backends.cpu.runner import threads
from thunk.base.config import config
from thunk.lazy.eager import execution
from thunk.nn import functional as F

def trained(lazy):
    thunk.manual_seed(1)
    with execution(lazy):
        picture, target = thunk.randn(6, 3, 14, 14), thunk.arange(6)
        layers = thunk.nn.Sequential(
            thunk.nn.Conv2d(3, 8, 3, padding=1, bias=False), thunk.nn.BatchNorm2d(8),
            thunk.nn.ReLU(),
            thunk.nn.MaxPool2d(2), thunk.nn.Conv2d(8, 8, 3, groups=2, stride=2),
            thunk.nn.ConvTranspose2d(8, 4, 3), thunk.nn.Flatten(), thunk.nn.Linear(100, 12),
            thunk.nn.GELU(), thunk.nn.Linear(12, 6),
        )
        optimizer = thunk.optim.SGD(layers.parameters(), lr=0.05, momentum=0.9)
        for _ in range(4):
            optimizer.zero_grad()
            loss = F.cross_entropy(layers(picture), target)
            loss.backward()
            optimizer.step()
        return [each.detach().numpy() for each in (loss, *layers.parameters())]

def products(lazy):
    thunk.manual_seed(2)
    with execution(lazy):
        found = []
        for element in (thunk.float32, thunk.float64, thunk.bfloat16):
            left, right = thunk.randn(40, 70).to(element), thunk.randn(70, 30).to(element)
            batch = thunk.randn(5, 70, 9).to(element)
            line, kernel = thunk.randn(2, 4, 30).to(element), thunk.randn(6, 4, 5).to(element)
            for each in (line, kernel):
                each.requires_grad_()
            curve = F.conv1d(line, kernel, stride=2)
            curve.float().square().sum().backward()
            found += [left @ right, left @ right.mT.contiguous().mT, left @ batch, curve]
            found += [line.grad, kernel.grad]
        return [each.detach().float().numpy() for each in found]

config.interpret_first = False
assert threads().count == 1
for make in (trained, products):
    for one, other in zip(make(False), make(True), strict=True):
        numpy.testing.assert_allclose(one, other, rtol=2e-2 if make is products else 2e-3,
                                      atol=2e-2 if make is products else 2e-4)
from thunk.lazy.compiled import computations
assert computations.inspect(), "nothing was compiled"
for each in computations.inspect():
    program = each.value.executable
    assert program is None or not program.schedule.fallbacks, program.schedule.fallbacks
"""
DEMO = """
from thunk.__main__ import main
words = ["--epochs", "2", "--samples", "96", "--batch-size", "16", "--plot", "PLOT"]
assert main(["demo", *words]) == 0
"""
TESTS = """
import pytest
files = ["test_lowering_convolution.py", "test_lowering_families.py", "test_products.py",
         "test_lowering_attention.py", "test_lowering_matrices.py"]
failed = pytest.main(["-q", "-x", "-p", "no:cacheprovider",
                      *["tests/unit/compiler/" + each for each in files]])
assert failed == 0
"""


def run(script: str, tmp_path: Path) -> None:
    environment = {**os.environ, "THUNK_CACHE_DIR": str(tmp_path),
                   "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT)))}  # fmt: skip
    done = subprocess.run([sys.executable, "-c", ABSENT + script + AFTERWARDS], cwd=ROOT,
                          env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_steps_and_products_compile_and_agree(tmp_path: Path) -> None:
    run(STEP, tmp_path)


def test_the_demo_trains(tmp_path: Path) -> None:
    run(DEMO.replace("PLOT", str(tmp_path / "demo.svg")), tmp_path)
    assert (tmp_path / "demo.svg").exists()


@pytest.mark.slow
def test_the_compiler_passes_its_tests(tmp_path: Path) -> None:
    run(TESTS, tmp_path)
