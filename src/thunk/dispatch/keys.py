"""Dispatch keys and sets of them: what a call carries and what a kernel is registered to.

Enters: key names and key sets. Leaves: `DispatchKey`, interned `KeySet`, the alias expansions.
Invariant: runtime keys are numbered by priority, so the highest bit of a set is the key to serve.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum


class DispatchKey(IntEnum):
    """A layer of functionality (runtime keys, low to high priority) or a name for several (alias).

    The order is PyTorch's: backends, then Python mode, then autograd, then autocast.
    """

    Undefined = 0
    CPU = 1
    XLA = 2
    Lazy = 3
    PrivateUse1 = 4
    Meta = 5
    FPGA = 6
    BackendSelect = 7
    Python = 8
    AutogradOther = 9
    AutogradCPU = 10
    AutogradXLA = 11
    AutogradLazy = 12
    AutogradPrivateUse1 = 13
    AutogradMeta = 14
    AutocastCPU = 15

    Autograd = 16
    CompositeImplicitAutograd = 17
    CompositeExplicitAutograd = 18
    CompositeExplicitAutogradNonFunctional = 19

    # Enum hashes the member's name in Python code; tables index by key, so hash the number.
    __hash__ = int.__hash__

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"DispatchKey.{self.name}"


RUNTIME_KEY_COUNT = int(DispatchKey.AutocastCPU) + 1
_RUNTIME_KEYS = tuple(key for key in DispatchKey if key < RUNTIME_KEY_COUNT)
_ALIAS_KEYS = tuple(key for key in DispatchKey if key >= RUNTIME_KEY_COUNT)
_RUNTIME_KEY_OF_NUMBER = _RUNTIME_KEYS


class KeySet:
    """An immutable set of runtime keys, interned: equal sets are the same object.

    `Undefined` stands for the empty set, as in PyTorch: it never has a bit of its own.
    """

    __slots__ = ("_highest", "bits")
    bits: int
    _highest: DispatchKey

    def __new__(cls, keys: Iterable[DispatchKey] = ()) -> KeySet:
        bits = 0
        for key in keys:
            bits |= bit_of(key)
        return cls.from_bits(bits)

    @staticmethod
    def from_bits(bits: int) -> KeySet:
        """Return the set whose members are the set bits (bit number = key number)."""
        found = _interned.get(bits)
        if found is not None:
            return found
        if bits < 0 or bits & 1 or bits >> RUNTIME_KEY_COUNT:
            raise ValueError(
                f"KeySet: expected bits of the runtime keys 1 to {RUNTIME_KEY_COUNT - 1},"
                f" got {bits:#x}; build sets with KeySet([DispatchKey.CPU, ...])"
            )
        made = object.__new__(KeySet)
        object.__setattr__(made, "bits", bits)
        highest = _RUNTIME_KEY_OF_NUMBER[(bits | 1).bit_length() - 1]
        object.__setattr__(made, "_highest", highest)
        # setdefault decides between two threads that build the same set at once.
        return _interned.setdefault(bits, made)

    def highest(self) -> DispatchKey:
        """Return the member of highest priority, `Undefined` if there is none."""
        return self._highest

    def after(self, key: DispatchKey) -> KeySet:
        """Return the members of strictly lower priority than `key`."""
        return KeySet.from_bits(self.bits & ((1 << key) - 1))

    def isdisjoint(self, other: KeySet) -> bool:
        return not self.bits & other.bits

    def __or__(self, other: KeySet | DispatchKey) -> KeySet:
        return KeySet.from_bits(self.bits | _bits_of_operand(other))

    def __and__(self, other: KeySet | DispatchKey) -> KeySet:
        return KeySet.from_bits(self.bits & _bits_of_operand(other))

    def __sub__(self, other: KeySet | DispatchKey) -> KeySet:
        return KeySet.from_bits(self.bits & ~_bits_of_operand(other))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, DispatchKey) and bool(self.bits >> key & 1)

    def __iter__(self) -> Iterator[DispatchKey]:
        """Yield the members from the highest priority down, as a call meets them."""
        bits = self.bits
        while bits:
            number = bits.bit_length() - 1
            yield _RUNTIME_KEY_OF_NUMBER[number]
            bits &= ~(1 << number)

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __bool__(self) -> bool:
        return self.bits != 0

    def __repr__(self) -> str:
        return f"KeySet({', '.join(key.name for key in self)})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"KeySet: is immutable, cannot set {name!r}; build a new set instead")

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return KeySet.from_bits, (self.bits,)

    def __copy__(self) -> KeySet:
        return self

    def __deepcopy__(self, memo: object) -> KeySet:
        return self


_interned: dict[int, KeySet] = {}


def bit_of(key: DispatchKey) -> int:
    """Return the bit of a runtime key (0 for `Undefined`, the empty set)."""
    if key >= RUNTIME_KEY_COUNT:
        raise ValueError(
            f"KeySet: expected a runtime key, got the alias {key.name}; expand it with backends_of"
        )
    return 1 << key if key else 0


def _bits_of_operand(operand: KeySet | DispatchKey) -> int:
    if isinstance(operand, KeySet):
        return operand.bits
    if isinstance(operand, DispatchKey):
        return bit_of(operand)
    raise TypeError(
        f"KeySet: expected a KeySet or a DispatchKey, got {type(operand).__name__};"
        " wrap the keys in KeySet([...])"
    )


EMPTY = KeySet()
FULL = KeySet(_RUNTIME_KEYS)

_AUTOGRAD_KEY_OF_BACKEND: dict[DispatchKey, DispatchKey] = {
    DispatchKey.CPU: DispatchKey.AutogradCPU,
    DispatchKey.XLA: DispatchKey.AutogradXLA,
    DispatchKey.Lazy: DispatchKey.AutogradLazy,
    DispatchKey.PrivateUse1: DispatchKey.AutogradPrivateUse1,
    DispatchKey.Meta: DispatchKey.AutogradMeta,
    DispatchKey.FPGA: DispatchKey.AutogradOther,
}

BACKENDS = KeySet(_AUTOGRAD_KEY_OF_BACKEND)
AUTOGRAD_KEYS = KeySet(_AUTOGRAD_KEY_OF_BACKEND.values())
# PyTorch counts XLA and Lazy as functional: in-place composites must not reach them.
_NON_FUNCTIONAL_BACKENDS = BACKENDS - KeySet((DispatchKey.XLA, DispatchKey.Lazy))

_EXPANSION_OF_ALIAS: dict[DispatchKey, KeySet] = {
    DispatchKey.Autograd: AUTOGRAD_KEYS,
    DispatchKey.CompositeImplicitAutograd: BACKENDS | AUTOGRAD_KEYS,
    DispatchKey.CompositeExplicitAutograd: BACKENDS,
    DispatchKey.CompositeExplicitAutogradNonFunctional: _NON_FUNCTIONAL_BACKENDS,
}

_BACKENDS_OF_AUTOGRAD_KEY: dict[DispatchKey, KeySet] = {
    autograd_key: KeySet(
        backend for backend, mapped in _AUTOGRAD_KEY_OF_BACKEND.items() if mapped is autograd_key
    )
    for autograd_key in AUTOGRAD_KEYS
}


def runtime_keys() -> tuple[DispatchKey, ...]:
    """Return every runtime key, lowest priority first, `Undefined` included."""
    return _RUNTIME_KEYS


def alias_keys() -> tuple[DispatchKey, ...]:
    """Return every alias key."""
    return _ALIAS_KEYS


def is_alias(key: DispatchKey) -> bool:
    """Tell whether a key names several runtime keys."""
    return key >= RUNTIME_KEY_COUNT


def backends_of(key: DispatchKey) -> KeySet:
    """Return the runtime keys that an alias covers (for a runtime key: itself)."""
    expansion = _EXPANSION_OF_ALIAS.get(key)
    return KeySet((key,)) if expansion is None else expansion


def autograd_key_of(backend: DispatchKey) -> DispatchKey:
    """Return the autograd key of a backend; one without its own shares `AutogradOther`."""
    return _AUTOGRAD_KEY_OF_BACKEND.get(backend, DispatchKey.AutogradOther)


def backends_of_autograd_key(autograd_key: DispatchKey) -> KeySet:
    """Return the backends whose gradients an autograd key serves (empty for other keys)."""
    return _BACKENDS_OF_AUTOGRAD_KEY.get(autograd_key, EMPTY)


def parse_key(name: str) -> DispatchKey:
    """Return the key of that name, as spelled in registrations."""
    try:
        return DispatchKey[name]
    except KeyError:
        raise RuntimeError(
            f"dispatch key: expected one of {', '.join(key.name for key in DispatchKey)},"
            f" got {name!r}; fix the spelling"
        ) from None
