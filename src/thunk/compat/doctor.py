"""Enters: nothing. Leaves: what this installation is made of, and whether each part works.

Invariant: a part counts as working only after it did something.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import thunk
from thunk.base.config import config
from thunk.compat.processor import capability, features, model


def diagnose() -> tuple[str, bool]:
    """The findings as text, and whether everything that is required works."""
    lines = [
        f"thunk     {thunk.__version__}, in {Path(thunk.__file__).parent}",
        f"python    {platform.python_version()} ({sys.executable})",
        f"system    {platform.platform()}",
        f"processor {model()}: {capability()}; {', '.join(features()) or 'features unknown'}",
        f"threads   {thunk.get_num_threads()} for operators, {os.cpu_count()} processors",
        f"cache     {_cache()}",
    ]
    healthy = True
    for name, required, check in _PARTS:
        try:
            found, works = check(), True
        except (ImportError, OSError, AttributeError, RuntimeError) as error:
            found, works = f"{type(error).__name__}: {error}", False
        healthy = healthy and (works or not required)
        word = "works" if works else ("BROKEN" if required else "absent")
        lines.append(f"{name.ljust(11)} {word.ljust(7)} {found}")
    return "\n".join(lines), healthy


def _cache() -> str:
    """Where compiled code is kept between runs."""
    options = config.options()
    kept = [name for name in options if "cache" in name]
    if not kept:
        return "none: nothing is kept between runs"
    return ", ".join(f"{name} = {getattr(config, name)!r}" for name in kept)


def _version(package: str) -> str:
    return importlib.metadata.version(package)


def _eager() -> str:
    x = thunk.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    if x.grad.tolist() != [2.0, 4.0]:
        raise RuntimeError(f"expected the gradient [2.0, 4.0], got {x.grad.tolist()}")
    return "operators and gradients on the reference backend"


def _numpy() -> str:
    numpy = importlib.import_module("numpy")
    if float((numpy.ones((2, 2)) @ numpy.ones((2, 2))).sum()) != 8.0:
        raise RuntimeError("a product of ones is wrong")
    return _version("numpy")


def _ml_dtypes() -> str:
    if thunk.tensor(1.0).to(thunk.bfloat16).item() != 1.0:
        raise RuntimeError("1.0 in bfloat16 is not 1.0")
    return _version("ml_dtypes")


def _safetensors() -> str:
    safetensors = thunk.serialization.safetensors
    if safetensors.load(safetensors.save({"x": thunk.ones(2)}))["x"].tolist() != [1.0, 1.0]:
        raise RuntimeError("ones came back as something else")
    return _version("safetensors")


def _llvmlite() -> str:
    binding: Any = importlib.import_module("llvmlite.binding")
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine()
    module = binding.parse_assembly("define i32 @one() { ret i32 1 }")
    module.verify()
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    ctypes = importlib.import_module("ctypes")
    function = ctypes.CFUNCTYPE(ctypes.c_int32)(engine.get_function_address("one"))
    if function() != 1:
        raise RuntimeError("a compiled function returned the wrong number")
    version = ".".join(map(str, binding.llvm_version_info))
    return f"{_version('llvmlite')}, LLVM {version}, compiles and runs"


def _onednn() -> str:
    ctypes = importlib.import_module("ctypes")

    class Version(ctypes.Structure):  # type: ignore[name-defined, misc]  # loaded by name
        _fields_ = [  # noqa: RUF012
            ("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int),
        ]  # fmt: skip

    library = ctypes.CDLL(str(_onednn_library()))
    library.dnnl_version.restype = ctypes.POINTER(Version)
    found = library.dnnl_version().contents
    return f"{found.major}.{found.minor}.{found.patch}, loads ({_onednn_library().name})"


def _onednn_library() -> Path:
    """The shared library that the package installed."""
    files = importlib.metadata.files("onednn-cpu-gomp") or []
    for each in files:
        if each.name.startswith("libdnnl.so"):
            return Path(str(each.locate())).resolve()
    raise OSError("the package onednn-cpu-gomp holds no libdnnl.so")


def _optional(package: str, module: str) -> Callable[[], str]:
    def check() -> str:
        importlib.import_module(module)
        return _version(package)

    return check


_PARTS: tuple[tuple[str, bool, Callable[[], str]], ...] = (
    ("eager mode", True, _eager),
    ("numpy", True, _numpy),
    ("ml_dtypes", True, _ml_dtypes),
    ("safetensors", True, _safetensors),
    ("llvmlite", False, _llvmlite),
    ("oneDNN", False, _onednn),
    ("Pillow", False, _optional("pillow", "PIL.Image")),
    ("tensorboard", False, _optional("tensorboard", "tensorboard")),
)
