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
    "a look at other memory counts as a write": """
        t0 = torch.tensor([1.0, 2.0], dtype=torch.float64)
        t1 = t0 >= (t0 + 0.5)
        t2 = t1.detach()
        t2.set_(t1)
        t3 = torch.tensor([0.5, 2.0], requires_grad=True)
        t4 = torch.tensor(2)
        t5 = torch.maximum(t4, t3 * 2)
        t4.set_(t4)
        t5.sum().backward()
        """,
    "memory that a tensor left": """
        t0 = torch.tensor([0.25], dtype=torch.float64)
        t1 = t0 - -0.5
        t2 = t1.transpose(0, -1)
        t1.data = t1.clone()
        torch.tanh(t2, out=t0)
        """,
    "a view made without gradients wants one": """
        t0 = torch.tensor([-1.125, 0.5], requires_grad=True)
        with torch.no_grad():
            t1 = t0.view(-1)
        t2 = torch.nn.functional.layer_norm(t1, t1.shape[-1:])
        t3 = (t1 * t0).sum()
        t3.backward()
        t4 = torch.tensor([[0.5, 2.0]], requires_grad=True)
        t5 = torch.matmul(t4, t4.mT) + 0
        t5.sum().backward()
        """,
    "numbers in the place of tensors are freed": """
        t0 = torch.tensor([[-0.625]], requires_grad=True)
        t1 = t0 * -0.75
        t1.mean().backward()
        t1.mean().backward()
        """,
    "a pass that was remembered frees what others hold": """
        t0 = torch.tensor([-1.25, -1.25], requires_grad=True)
        t1 = t0 * 0.75
        t1.fill_(-0.5)
        t2 = torch.autograd.grad(t1.sum(), [t1], retain_graph=True)[0] * 1
        (t1.mean() + (t1 * t1).sum()).backward()
        t1.sum().backward(retain_graph=True)
        """,
    "what a view showed when it was saved": """
        t0 = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        t1 = torch.tensor([0.5, 2.0], requires_grad=True)
        t2 = torch.add(t0, 2)
        t3 = torch.matmul(t2, t2.mT) + 0
        t2.mul_(-0.5)
        ((t1 * 3).sum() - t3[..., 0].sum()).backward()
        """,
    "a result written in a view is saved there": """
        t0 = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        t1 = t0 * 1
        t1[1:].tanh_()
        t1[0] = 5
        t1.sum().backward()
        """,
    "a flag that changes after a value was saved": """
        t0 = torch.tensor([0.5, 2.0], requires_grad=True)
        t1 = torch.tensor(-1.375)
        t2 = t0 * t1
        t1.requires_grad_(True)
        t3 = torch.autograd.grad(t2.mean(), [t0], create_graph=True)[0]
        (t3 * t3).sum().backward()
        t4 = torch.tensor([0.5, 2.0], requires_grad=True)
        t5 = t4 * t0
        t4.requires_grad_(False)
        t4.mul_(1.5)
        t5.sum().backward()
        """,
    "a leaf that was written to with gradients": """
        t0 = torch.tensor([1.5, -1.0], requires_grad=True)
        t1 = t0 + 0.25
        t0.requires_grad_(False)
        t0[:] = t1
        t0.sum().backward()
        """,
    "writes behind a counter": """
        t0 = torch.tensor([-0.75, 0.75], requires_grad=True)
        t1 = torch.tensor([0.5, 0.25], requires_grad=True)
        t2 = torch.maximum(t0, t0)
        t0.data.mul_(2)
        t2.mean().backward()
        t3 = t0.detach() * 1
        t4 = t3.data
        t5 = t4 * t1
        t6 = t3 * t1
        t4.mul_(2)
        t6.sum().backward()
        t5.sum().backward()
        """,
    "memory of an array that was saved": """
        t0 = torch.tensor([[-0.625]], requires_grad=True)
        t1 = torch.ones((1, 2)) * 2
        a2 = numpy.from_dlpack(t1.detach())
        t3 = t0 @ t1
        t1.copy_(torch.zeros((1, 2)))
        t3.backward(torch.ones_like(t3))
        """,
    "memory of an array that is written behind the counter of what was saved": """
        t0 = torch.tensor([[-0.75, 0.5, -0.875]], requires_grad=True)
        t1 = t0 * 2
        t2 = t1.data
        t3 = torch.from_dlpack(numpy.from_dlpack(t2))
        t4 = t1 * t1
        t2.zero_()
        t4.backward(torch.ones_like(t4))
        """,
    "a view that a function overwrites": """
        t0 = torch.tensor([[-0.75, 1.0, 0.25], [-0.75, 0.375, -1.5]], requires_grad=True)
        t1 = (t0 + 1) - 0.5
        t2 = t1.as_strided((2,), (2,))
        t3 = Overwrite.apply(t2)
        (t3.mean() + (t1 * t1).sum()).backward()
        """,
    "a view of memory that its base left": """
        t0 = torch.tensor([0.25], dtype=torch.float64, requires_grad=True)
        t1 = torch.ones((2, 2), dtype=torch.float64) * 2
        t2 = t1.diagonal(-1)
        t1.data = t1.clone()
        log.append(t1.tolist())
        t2.copy_(t0)
        """,
    "a flag that changes between what is saved and a cut": """
        t0 = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        t1 = torch.full((2, 2), 0.25)
        t2 = (t1 + t0) @ t0
        t0.requires_grad_(False)
        log.append(t1.tolist())
        t3 = torch.autograd.grad(t2.sum(), [t2], create_graph=True)[0] * 1
        t4 = t0 * 2
        """,
    "a view written before what it shows is saved": """
        t0 = torch.tensor([1.0, 1.125], requires_grad=True)
        t1 = torch.mul(t0, 3)
        t2 = t1.reshape(-1)
        t2.sub_(t0, alpha=0.25)
        t3 = torch.autograd.grad((t2 * t2).sum(), [t0], retain_graph=True)[0] * 1
        a4 = t0.detach().numpy()
        """,
    "hooks in the order of what was recorded": """
        t0 = torch.tensor([-1.125, 0.625], requires_grad=True)
        t1 = torch.tensor(1.0, requires_grad=True)
        t2 = torch.nn.Parameter(t1.data)
        t3, t4 = Twice.apply(t1, t2)
        t2.register_hook(doubled)
        t0.register_hook(seen)
        t5, t6 = t0.unbind(0)
        (t3 + t5).backward()
        """,
    "a place in memory that a detached part names": """
        t0 = torch.tensor([[0.625], [1.0], [0.5]], requires_grad=True)
        t1 = t0.diagonal(-1)
        t2 = t1 * -0.5
        t3 = t1.detach()
        log.append(t3.tolist())
        t4 = t0 * 2
        t5 = torch.as_strided(t3, (1,), (1,), 1)
        """,
    "a refused view copied to integers": """
        t0 = torch.tensor([[[3], [0]], [[3], [3]]])
        t1 = torch.tensor(-0.5, requires_grad=True)
        t2 = torch.stack([t1, t1], -1)
        t3, t4 = t2.unbind(0)
        t2[...] = t1
        t0.copy_(t3)
        """,
    "a write without gradients where they are refused": """
        t0 = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        t1 = t0 * 2
        with torch.no_grad():
            t2 = t1[...]
        t1[0] = 5
        with torch.no_grad():
            t3 = t2[...]
            t2.mul_(1.25)
        t4 = t2 * 1
        """,
    "a saved part of memory that others write to": """
        t0 = torch.tensor(1.375, requires_grad=True)
        t1 = torch.tensor([[-1.375], [1.5], [0.0]], requires_grad=True)
        t2 = torch.tensor(-1.125)
        t3 = torch.addcmul(t1, t1, t0, value=0.25)
        t4 = t3[:1].detach()[...]
        t5 = t4.detach()
        t6 = torch.from_dlpack(numpy.from_dlpack(t4.reshape(-1)))
        t7 = t3 @ t5
        t6.copy_(t2)
        t7.sum().backward()
        """,
    "a part that is read in inference mode before it is saved": """
        t0 = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
        t1, t2 = t0.data.chunk(2)
        t2.mul_(2.0)
        with torch.inference_mode():
            t3 = t1.sum()
        t4 = t0 @ t1
        t4.sum().backward()
        """,
}


def test_a_walked_pass_asks_whose_gradients_it_has() -> None:
    """Two programs of one path: gradients of the first end in a leaf, of the second flow on."""
    setup = ["t0 = torch.tensor([1.0, 2.0], requires_grad=True)", "t1 = t0 * t0"]
    leaf = [*setup[:1], "t1 = t0", "t2 = t1[:1]", "log.append(t0.tolist())"]
    result = [*setup, "t2 = t1[:1]", "log.append(t1.tolist())"]
    passed = ["t3 = t2 * t2", "t3.sum().backward()"]
    for lines in (leaf, result, leaf):
        program = [("found", line) for line in (*lines, *passed)]
        assert judge(program, LAZY) is None


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
