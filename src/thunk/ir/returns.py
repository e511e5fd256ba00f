"""Enters: a schema with several named results. Leaves: the named tuple a call returns.

Invariant: one class a schema name, found again by pickling; it prints as PyTorch's return types do.
"""

from __future__ import annotations

from typing import Any

from thunk.ir.schema import Schema


class ReturnType(tuple[Any, ...]):
    """A tuple whose items also have names."""

    __slots__ = ()
    fields: tuple[str, ...] = ()
    _fields: tuple[str, ...] = ()  # what collections.namedtuple calls them
    operator = ""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[self.fields.index(name)]
        except ValueError:
            raise AttributeError(
                f"{self.operator}: expected one of {', '.join(self.fields)}, got {name!r}"
            ) from None

    def __repr__(self) -> str:
        inside = ",\n".join(
            f"{name}={value!r}" for name, value in zip(self.fields, self, strict=True)
        )
        return f"torch.return_types.{self.operator}(\n{inside})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.operator, self.fields, tuple(self))


_classes: dict[tuple[str, tuple[str, ...]], type[ReturnType]] = {}


def _class_for(operator: str, fields: tuple[str, ...]) -> type[ReturnType]:
    key = (operator, fields)
    found = _classes.get(key)
    if found is None:
        body = {"__slots__": (), "fields": fields, "_fields": fields, "operator": operator}
        found = _classes.setdefault(key, type(operator, (ReturnType,), body))
    return found


def _rebuild(operator: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> ReturnType:
    return _class_for(operator, fields)(values)


def class_for(schema: Schema) -> type[ReturnType] | None:
    """The class of a schema's results; None unless they are several, each with a name."""
    fields = tuple([each.name for each in schema.returns if each.name])
    if len(fields) < 2 or len(fields) != len(schema.returns):
        return None
    return _class_for(schema.name, fields)


def named_result(schema: Schema, result: Any) -> Any:
    """`result` with the names of the schema's returns, where it has several named ones."""
    if type(result) is not tuple or len(result) < 2 or len(schema.returns) != len(result):
        return result
    cls = class_for(schema)
    return result if cls is None else cls(result)
