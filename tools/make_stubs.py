"""Writes the type stubs of what declarations make public: methods of Tensor, functions of modules.

In: the registry that importing thunk fills. Out: `.pyi` files, one a class or module.
Invariant: a stub says what the declarations say; a parameter has the name by which users pass it.

    python tools/make_stubs.py --check | --write
"""

import argparse
import difflib
import keyword
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import thunk
from thunk.ir.opdef import OpDef
from thunk.ir.schema import Argument, SchemaType
from thunk.ops.public import public_functions
from thunk.ops.registry import Packet, all_packets
from thunk.tensor.methods import ATTRIBUTES, BINARY, COMPARE, UNARY
from thunk.tensor.operators import Operators

SOURCE = Path(__file__).resolve().parents[1] / "src" / "thunk"
MODULES = {
    "": "_functions.pyi",
    "fft": "_fft.pyi",
    "linalg": "_linalg.pyi",
    "nn": "_nn_functional.pyi",
    "special": "_special.pyi",
}
HEAD = '''"""{doc}

Written by `make docs` from the declarations under `src/thunk/ops`; do not edit.
"""

# ruff: noqa: E501
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
{imports}
{body}
'''
# What a stub may name: its alias, where it comes from and what it is called there. Aliases keep
# methods called `float` or `int` from hiding types.
NAMES = {
    "_bool": ("builtins", "bool"), "_complex": ("builtins", "complex"),
    "_float": ("builtins", "float"), "_int": ("builtins", "int"), "_str": ("builtins", "str"),
    "_Sequence": ("collections.abc", "Sequence"), "_Any": ("typing", "Any"),
    "_TypeAlias": ("typing", "TypeAlias"), "_overload": ("typing", "overload"),
    "_Generator": ("thunk.tensor.generator", "Generator"),
    "_Storage": ("thunk.tensor.storage", "UntypedStorage"),
    "_Tensor": ("thunk.tensor.tensor", "Tensor"), "_device": ("thunk.types.device", "device"),
    "_dtype": ("thunk.types.dtype", "dtype"), "_layout": ("thunk.types.layout", "layout"),
    "_memory_format": ("thunk.types.layout", "memory_format"),
    "_TensorBase": ("thunk.types.tensor_base", "TensorBase"),
}  # fmt: skip
ALIASES = {
    "_Number": "_Number: _TypeAlias = _int | _float | _complex",
    "_Where": "_Where: _TypeAlias = _device | _str | _int",
}
SPELLED = {
    "Tensor": "_Tensor", "Scalar": "_Number", "number": "_Number", "int": "_int", "SymInt": "_int",
    "float": "_float", "bool": "_bool", "str": "_str", "complex": "_complex",
    "ScalarType": "_dtype", "Layout": "_layout", "Device": "_Where",
    "MemoryFormat": "_memory_format", "Generator": "_Generator", "Storage": "_Storage",
}  # fmt: skip
WHOLE = ("int", "SymInt")


def annotation(kind: SchemaType, takes_numbers: bool = False) -> str:
    """The Python type of an argument."""
    inner = SPELLED.get(kind.base, "_Any")
    if kind.is_list:
        element = f"{inner} | None" if kind.optional_element else inner
        text = f"_Sequence[{element}]"
        text = f"{inner} | {text}" if kind.size is not None and kind.base in WHOLE else text
    else:
        text = f"{inner} | _Number" if takes_numbers else inner
    return f"{text} | None" if kind.optional and text != "_Any" else text


def result(op: OpDef) -> str:
    """The Python type of an operator's result."""
    kinds = [each.type for each in op.schema.returns]
    spelled = [
        f"tuple[{SPELLED.get(kind.base, '_Any')}, ...]" if kind.is_list else annotation(kind)
        for kind in kinds
    ]
    if not spelled:
        return "None"
    return spelled[0] if len(spelled) == 1 else f"tuple[{', '.join(spelled)}]"


def parameter_name(argument: Argument, is_method: bool) -> str:
    """The name by which Python passes an argument."""
    name = "input" if argument.name == "self" and not is_method else argument.name
    return f"{name}_" if keyword.iskeyword(name) else name


def parameters(op: OpDef, is_method: bool, has_out: bool, asks: bool) -> list[str]:
    """The parameters of one overload, spelled."""
    arguments = list(op.schema.arguments)
    parts: list[str] = []
    if is_method:
        own = next((each for each in arguments if each.name == "self"), arguments[0])
        arguments.remove(own)
        parts.append("self")
    starred = optional = False
    for argument in arguments:
        if argument.keyword_only and not starred:
            parts.append("*")
            starred, optional = True, False
        kind = annotation(argument.type, argument.name in op.numbers)
        optional = optional or not argument.is_required
        default = " = ..." if optional and not (starred and argument.is_required) else ""
        parts.append(f"{parameter_name(argument, is_method)}: {kind}{default}")
    extra = ["out: _Any = ..."] if has_out else []
    extra += ["requires_grad: _bool = ..."] if asks else []
    return [*parts, *(["*"] if extra and not starred else []), *extra]


def spread(op: OpDef, is_method: bool) -> str | None:
    """The form of a call with ints in a row, where the only argument is a list of them."""
    positional = [each for each in op.schema.positional if not (is_method and each.name == "self")]
    if len(positional) != 1:
        return None
    kind = positional[0].type
    if not kind.is_list or kind.base not in WHOLE or kind.size is not None:
        return None
    return f"*{parameter_name(positional[0], is_method)}: _int"


def signatures(packet: Packet, variant: str) -> list[str]:
    """The signatures of one public callable, without its name."""
    is_method = variant == "method"
    ops = [op for op in packet.overloads if variant in op.variants]
    derived = {op.functional for op in ops if op.schema.outs and op.functional is not None}
    found: list[str] = []
    for op in ops:
        if op.schema.outs and op.functional is not None and op.functional in ops:
            continue
        asks = {"dtype", "layout", "device", "pin_memory"} <= {
            each.name for each in op.schema.keyword_only
        }
        parts = parameters(op, is_method, op in derived, asks)
        found.append(f"({', '.join(parts)}) -> {result(op)}")
        row = spread(op, is_method)
        if row is not None:
            tail = parts[parts.index("*") + 1 :] if "*" in parts else []
            own = ["self"] if is_method else []
            found.append(f"({', '.join([*own, row, *tail])}) -> {result(op)}")
    return list(dict.fromkeys(found))


def definitions(name: str, found: Iterable[str], indent: str = "") -> list[str]:
    """The lines that define one callable."""
    each = list(found)
    mark = [f"{indent}@_overload"] if len(each) > 1 else []
    return [line for text in each for line in (*mark, f"{indent}def {name}{text}: ...")]


def page(doc: str, lines: Iterable[str]) -> str:
    """A whole stub: it imports what its lines name."""
    body = "\n".join(lines)
    used = set(re.findall(r"\b_\w+", body))
    aliases = [text for name, text in ALIASES.items() if name in used]
    used |= set(re.findall(r"\b_\w+", "\n".join(aliases)))
    wanted = [(home, name, alias) for alias, (home, name) in NAMES.items() if alias in used]
    # The linter's order: by module, classes before functions.
    wanted.sort(key=lambda each: ("thunk" in each[0], each[0], each[1][0].islower(), each[1]))
    imports = [f"from {home} import {name} as {alias}" for home, name, alias in wanted]
    first = next((at for at, line in enumerate(imports) if "thunk" in line), len(imports))
    imports[first:first] = [""]
    head = "\n".join([*imports, "", *aliases])
    return HEAD.format(doc=doc, imports=head, body=body)


def module_stub(module: str) -> str:
    """The stub of the functions whose home is `module`."""
    title = f"The functions of `thunk{'.' + module if module else ''}`."
    lines: list[str] = []
    packets = public_functions(module)
    for name in sorted(packets):
        if not keyword.iskeyword(name):
            lines += definitions(name, signatures(packets[name], "function"))
    if not module:
        names = sorted(name for name in vars(thunk) if isinstance(vars(thunk)[name], thunk.dtype))
        lines += [f"{name}: _dtype" for name in names]
    return page(title, lines)


def tensor_stub() -> str:
    """The stub of the operators among Tensor's methods."""
    lines = ["class Operators(_TensorBase):"]
    for packet in sorted(all_packets(), key=lambda packet: packet.name):
        name = ATTRIBUTES.get(packet.name, packet.name)
        if packet.namespace != "aten" or name not in vars(Operators) or name.startswith("__"):
            continue
        if any("method" in op.variants for op in packet.overloads):
            lines += definitions(name, signatures(packet, "method"), "    ")
        elif any("property" in op.variants for op in packet.overloads):
            lines += ["    @property", f"    def {name}(self) -> _Tensor: ..."]
    for special in (*BINARY, *COMPARE):
        lines.append(f"    def __{special}__(self, other: _Any) -> _Tensor: ...")
    for special in BINARY:
        lines.append(f"    def __r{special}__(self, other: _Any) -> _Tensor: ...")
        if special != "matmul":
            lines.append(f"    def __i{special}__(self, other: _Any) -> _Tensor: ...")
    lines += [f"    def __{special}__(self) -> _Tensor: ..." for special in UNARY]
    lines.append("    def __getitem__(self, index: _Any) -> _Tensor: ...")
    lines.append("    def __setitem__(self, index: _Any, value: _Any) -> None: ...")
    return page("The operators among the methods of `Tensor`.", lines)


def stubs() -> dict[Path, str]:
    """Every stub, by its file."""
    found = {Path("tensor/operators.pyi"): tensor_stub()}
    for module, file in MODULES.items():
        found[Path(file)] = module_stub(module)
    return found


def main(arguments: list[str] | None = None, root: Path = SOURCE) -> int:
    """Write the stubs, or print how they differ and return 1."""
    parser = argparse.ArgumentParser(description="the type stubs, from the declarations")
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--check", action="store_true", help="fail if a stub is out of date")
    choice.add_argument("--write", action="store_true", help="bring the stubs up to date")
    options = parser.parse_args(arguments)
    stale = 0
    for file, text in stubs().items():
        path = root / file
        if options.write:
            path.write_text(text, encoding="utf-8")
            continue
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if old != text:
            stale = 1
            print(f"{file} is out of date; run `python tools/make_stubs.py --write`")
            changes = difflib.unified_diff(old.splitlines(), text.splitlines(), "stub", "now", n=0)
            print("\n".join(list(changes)[:40]))
    return stale


if __name__ == "__main__":
    sys.exit(main())
