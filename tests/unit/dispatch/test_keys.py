"""Dispatch keys and key sets: order, algebra, aliases."""

import copy
import itertools
import pickle
import random

import pytest

from thunk.dispatch import keys as keys_module
from thunk.dispatch.keys import (
    AUTOGRAD_KEYS,
    BACKENDS,
    EMPTY,
    FULL,
    DispatchKey,
    KeySet,
    alias_keys,
    autograd_key_of,
    backends_of,
    backends_of_autograd_key,
    is_alias,
    parse_key,
    runtime_keys,
)

CPU, LAZY, FPGA = DispatchKey.CPU, DispatchKey.Lazy, DispatchKey.FPGA
AUTOGRAD_CPU = DispatchKey.AutogradCPU


def random_sets(count: int) -> list[set[DispatchKey]]:
    draw = random.Random(0)
    members = [key for key in runtime_keys() if key is not DispatchKey.Undefined]
    return [set(draw.sample(members, draw.randrange(len(members)))) for _ in range(count)]


def test_the_algebra_is_that_of_sets() -> None:
    for left, right in itertools.pairwise(random_sets(200)):
        a, b = KeySet(left), KeySet(right)
        assert set(a | b) == left | right
        assert set(a & b) == left & right
        assert set(a - b) == left - right
        assert len(a) == len(left)
        assert bool(a) == bool(left)
        assert a.isdisjoint(b) == left.isdisjoint(right)
        assert list(a) == sorted(left, reverse=True)
        assert a.highest() == max(left, default=DispatchKey.Undefined)
        for key in runtime_keys():
            assert (key in a) == (key in left)
            assert set(a.after(key)) == {member for member in left if member < key}


def test_equal_sets_are_one_object() -> None:
    one = KeySet([CPU, AUTOGRAD_CPU])
    assert one is KeySet([AUTOGRAD_CPU, CPU]) is EMPTY | CPU | AUTOGRAD_CPU
    assert copy.copy(one) is copy.deepcopy(one) is pickle.loads(pickle.dumps(one)) is one
    assert one != KeySet([CPU])


def test_a_set_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        KeySet([CPU]).bits = 0


def test_undefined_is_the_empty_set() -> None:
    assert KeySet([DispatchKey.Undefined]) is EMPTY
    assert DispatchKey.Undefined not in EMPTY
    assert EMPTY.highest() is DispatchKey.Undefined


def test_repr_lists_the_highest_first() -> None:
    assert repr(KeySet([CPU, AUTOGRAD_CPU])) == "KeySet(AutogradCPU, CPU)"
    assert repr(EMPTY) == "KeySet()"


def test_wrong_members_are_refused() -> None:
    with pytest.raises(ValueError, match="alias Autograd"):
        KeySet([DispatchKey.Autograd])
    with pytest.raises(TypeError, match="got set"):
        EMPTY | {CPU}  # type: ignore[operator]
    for bits in (-2, 1, 1 << 40):
        with pytest.raises(ValueError, match="runtime keys"):
            KeySet.from_bits(bits)


def test_priority_is_pytorchs() -> None:
    order = "Undefined CPU XLA Lazy PrivateUse1 Meta FPGA BackendSelect Python AutogradOther"
    order += " AutogradCPU AutogradXLA AutogradLazy AutogradPrivateUse1 AutogradMeta AutocastCPU"
    assert [key.name for key in runtime_keys()] == order.split()
    assert [int(key) for key in runtime_keys()] == list(range(len(runtime_keys())))


def test_every_key_is_runtime_or_alias() -> None:
    assert (*runtime_keys(), *alias_keys()) == tuple(DispatchKey)
    assert not any(is_alias(key) for key in runtime_keys())
    assert all(is_alias(key) for key in alias_keys())
    assert set(FULL) | {DispatchKey.Undefined} == set(runtime_keys())


def test_every_backend_has_an_autograd_key() -> None:
    assert autograd_key_of(CPU) is AUTOGRAD_CPU
    assert autograd_key_of(LAZY) is DispatchKey.AutogradLazy
    assert autograd_key_of(FPGA) is DispatchKey.AutogradOther
    for backend in BACKENDS:
        assert backend in backends_of_autograd_key(autograd_key_of(backend))
    assert {autograd_key_of(backend) for backend in BACKENDS} == set(AUTOGRAD_KEYS)
    assert backends_of_autograd_key(CPU) is EMPTY


def test_aliases_cover_what_pytorch_says() -> None:
    assert backends_of(DispatchKey.Autograd) is AUTOGRAD_KEYS
    assert backends_of(DispatchKey.CompositeExplicitAutograd) is BACKENDS
    assert backends_of(DispatchKey.CompositeImplicitAutograd) is BACKENDS | AUTOGRAD_KEYS
    functional = KeySet([DispatchKey.XLA, LAZY])
    non_functional = backends_of(DispatchKey.CompositeExplicitAutogradNonFunctional)
    assert non_functional is BACKENDS - functional
    assert backends_of(CPU) is KeySet([CPU])
    assert DispatchKey.Python not in BACKENDS | AUTOGRAD_KEYS


def test_names() -> None:
    assert str(CPU) == "CPU"
    assert parse_key("AutogradLazy") is DispatchKey.AutogradLazy
    with pytest.raises(RuntimeError, match="got 'Cpu'"):
        parse_key("Cpu")


def test_the_set_of_interned_sets_does_not_grow_by_repetition() -> None:
    KeySet([CPU, FPGA])
    before = len(keys_module._interned)
    for _ in range(100):
        KeySet([FPGA, CPU])
    assert len(keys_module._interned) == before
