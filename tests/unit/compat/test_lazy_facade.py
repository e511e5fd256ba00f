"""`torch._lazy` in a script that runs on Thunk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import torch
import torch._lazy
import torch._lazy.metrics as metrics
import torch._lazy.ts_backend
from torch._lazy import closure, computation, config, debug, device_context, ir_cache
from torch._lazy.extract_compiled_graph import extract_compiled_graph

torch._lazy.ts_backend.init()
seen = []
x = torch.ones(2, device="lazy") + 1
torch._lazy.add_step_closure(seen.append, (x,))
torch._lazy.mark_step()
torch._lazy.wait_device_ops()
assert seen[0] is x and x.tolist() == [2.0, 2.0] and str(x.device) == "lazy:0"
assert "mul" in debug.dump_ir([x * 3], "text")
assert metrics.counter_value("MarkStep") == 1
assert torch._lazy.to_cpu([x])[0].device.type == "cpu"
print("fine")
"""


def test_scripts_find_lazy_tensors_where_pytorch_has_them(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    run = subprocess.run(
        [sys.executable, "-m", "thunk", str(script)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "fine" in run.stdout
