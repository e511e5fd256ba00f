"""Enters: a finding. Leaves: a Python file that shows it without the fuzzer or PyTorch.

Invariant: what PyTorch computed stands in the file; running it prints only what differs.
"""

from __future__ import annotations

import textwrap
from typing import Any

import torch

from fuzz.judge import MODES, reference
from fuzz.program import PRELUDE, Program
from fuzz.run import Outcome, execute_into

LOOK = '''
def look():
    """Read every value, as a barrier does."""
    for name, value in list(globals().items()):
        if name[0] == "t" and name[1:].isdigit():
            value.detach().tolist()


def compare():
    for name, (shape, values, requires_grad, version, grad) in EXPECTED.items():
        tensor = globals().get(name)
        if tensor is None:
            print(name, "expected, got none")
            continue
        found = (
            tuple(tensor.shape), tensor.detach().tolist(), tensor.requires_grad,
            None if tensor.is_inference() else tensor._version,
            None if grad is None or tensor.grad is None else tensor.grad.tolist(),
        )
        wanted = (shape, values, requires_grad, version, grad)
        for what, want, got in zip(("shape", "values", "requires_grad", "version", "grad"), wanted,
                                   found):
            if want != got:
                print(f"{name}.{what}: expected {want}, got {got}")
'''


def script(seed: int, mode_name: str, words: str, program: Program) -> str:
    """The file's text."""
    mode = MODES[mode_name]
    want = reference(program)
    body = []
    for (_, source), error in zip(program, want.errors, strict=True):
        body.append(_statement(source, error))
        if mode.every:
            body.append("look()")
    times = 2 if "warm" in mode_name or not mode.cold else 1
    return (
        f'"""Seed {seed}, {mode_name}: {words[:300]}"""\n\n'
        "import thunk as torch\nfrom thunk.base.config import config\n"
        f"from thunk.lazy.eager import execution\n{PRELUDE}\n\n"
        f"EXPECTED = {_expected(program, want)}\n{LOOK}\n\n"
        f"config.backend = {mode.backend!r}\n"
        f"with execution({mode.lazy}):\n    for attempt in range({times}):\n"
        "        log.clear()\n"
        f"{textwrap.indent(chr(10).join(body), ' ' * 8)}\n"
        "        compare()\n"
    )


def _statement(source: str, error: str) -> str:
    if not error:
        return source
    return (
        f"try:\n{textwrap.indent(source, '    ')}\nexcept {error}:\n    pass\n"
        f"else:\n    print('expected {error}')"
    )


def _expected(program: Program, want: Outcome) -> str:
    """Facts of the last statement, as text that lines up."""
    space = execute_into(program, torch)
    lines = []
    for name, tensor in space.items():
        if name in want.facts[-1] and name[0] == "t":
            lines.append(f"    {name!r}: {_facts(tensor)!r},")
    return "{\n" + "\n".join(lines) + "\n}"


def _facts(tensor: Any) -> tuple[Any, ...]:
    try:
        gradient = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
    except RuntimeError:
        gradient = None
    return (
        tuple(tensor.shape),
        tensor.detach().tolist(),
        tensor.requires_grad,
        None if tensor.is_inference() else tensor._version,
        None if gradient is None else gradient.tolist(),
    )
