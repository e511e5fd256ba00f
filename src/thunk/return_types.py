"""`thunk.return_types`: the classes of the named tuples that operators return, by operator name."""

from thunk.ir.returns import ReturnType, class_for
from thunk.ops.registry import find_packet


def __getattr__(name: str) -> type[ReturnType]:
    packet = find_packet(name) or find_packet(f"linalg_{name}")
    for op in packet.overloads if packet is not None else ():
        found = class_for(op.schema)
        if found is not None:
            return found
    raise AttributeError(
        f"return_types: expected an operator with several named results, got {name!r}"
    )

