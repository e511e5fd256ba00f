"""Programs that random testing found: eagerly, lazily and with barriers they do what PyTorch does.

Each runs in every mode of the fuzzer, cold and on a warm trie, and every value, gradient, flag,
version and error is compared.
"""

from __future__ import annotations

import pytest

from fuzz.judge import COLD, EAGER, LAZY, judge
from fuzz.program import Program

PROGRAMS = {
    "a write through a view of a detached result": """
        t0 = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        t1 = t0 * 2
        t2 = t1.detach()[...]
        t2[-1] = t0[0]
        (t2 * t2).sum().backward()
        t1.sum().backward()
        """,
    "a result that was given other data": """
        t0 = torch.tensor([1.0, 2.0], requires_grad=True)
        t1, t2 = Twice.apply(t0, t0)
        t1.data = t2.clone()
        t1.mean().backward(retain_graph=True)
        """,
    "a write to a result that was given other data": """
        t0 = torch.tensor([[1.0], [2.0]], requires_grad=True)
        t1 = torch.tensor(1.5, requires_grad=True)
        t2 = t1 + t0
        t2.data = t0.clone()
        t2[-1] = 1
        t2.backward(torch.ones_like(t2))
        """,
    "a detached part that is written": """
        t0 = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
        t1 = torch.tensor([0.5, 0.25, 2.0], requires_grad=True)
        t2 = (t0 * 2)[0].detach()
        t2[1:].mul_(t1[1:])
        t3 = (t0 * 2)[1].detach()
        t3.mul_(t1)
        t3[0] *= t1[1]
        (t2 * t3).sum().backward()
        """,
    "writes that read what they write": """
        t0 = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        t1 = torch.ones(3) * 2
        t1[1:].mul_(t0[1:])
        t1.t().mul_(t0)
        t1[:].mul_(t0).mul_(t0).exp_()
        t1.sum().backward()
        """,
    "a write in columns": """
        t0 = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
        t1 = torch.tensor([0.5, 0.25, 2.0], requires_grad=True)
        t2 = t0.t() * 1.5
        t2[0] = t1[:2] * t1[1:]
        (t2 * torch.arange(6.0).reshape(3, 2)).sum().backward()
        """,
    "a write through a view is differentiated once": """
        t0 = torch.ones((1, 1))
        t1 = torch.tensor(0.25, requires_grad=True)
        t2 = t0.expand(2, 1, 1)
        t0[:, ::2] = t1 * 3
        (t1 + t0.diagonal(0).sum()).backward()
        (t2 * t2).sum().backward()
        """,
    "a write through a view of everything is differentiated once": """
        t0 = torch.ones(3)
        t1 = torch.tensor(0.25, requires_grad=True)
        t0[...] = t1
        t0.sum().backward()
        t0.sum().backward()
        """,
    "bits of a float beside the float": """
        t0 = torch.tensor([[1.375, 1.375]])
        t1 = t0[None]
        t2 = t0.view(torch.int32)
        t2.clamp_(-3, 3)
        t3 = torch.cat([t0, t2], 0)
        t1.data.zero_()
        t4 = t0 + t2
        """,
}


def program_of(text: str) -> Program:
    """Statements, one a line; lines that are indented go on."""
    lines = [line[8:] for line in text.strip("\n").split("\n") if line.strip()]
    program: Program = []
    for line in lines:
        if line.startswith((" ", "else:")):
            source = program.pop()[1]
            line = f"{source}\n{line}"
        program.append(("found", line))
    return program


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    finding = judge(program_of(PROGRAMS[name]), (EAGER, *LAZY, *COLD))
    assert finding is None, f"{finding.mode.name}: {finding.words}"
