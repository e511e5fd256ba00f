"""`thunk.compat.install()` makes PyTorch's names mean Thunk's own modules."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import thunk
from thunk import compat
from thunk.compat.versions import VERSION


@pytest.fixture
def torch() -> Iterator[Any]:
    if "torch" in sys.modules:
        pytest.skip("the real torch is loaded in this process")
    compat.install()
    yield importlib.import_module("torch")
    compat.uninstall()
    assert "torch" not in sys.modules


def test_modules_are_the_same_objects(torch: Any) -> None:
    import_module = importlib.import_module
    assert import_module("torch.nn") is thunk.nn
    assert import_module("torch.nn.functional") is thunk.nn.functional
    assert import_module("torch.nn.modules.linear").Linear is thunk.nn.Linear
    assert import_module("torch.autograd") is thunk.autograd
    assert import_module("torch.fft") is thunk.fft
    assert torch.Tensor is thunk.Tensor
    assert torch.nn is thunk.nn
    assert isinstance(torch.nn.Linear(1, 1), thunk.nn.Module)
    assert thunk.nn.__spec__.name == "thunk.nn"
    assert thunk.nn.__name__ == "thunk.nn"


def test_imports_of_every_form(torch: Any) -> None:
    names: dict[str, Any] = {}
    exec(
        "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
        "from torch import Tensor, nn as again\nfrom torch.autograd import Function\n"
        "from torch.nn.parameter import Parameter\nimport torch.backends.cudnn as cudnn\n"
        "from torch import *\n",
        names,
    )
    assert names["nn"] is names["again"]
    assert names["Parameter"] is thunk.nn.Parameter
    assert names["cudnn"].benchmark is False
    assert names["ones"] is thunk.ones
    assert "float" not in names, "a star import must not hide Python's types"


def test_public_names_are_pytorch_s_not_internal_ones(torch: Any) -> None:
    assert torch.backends is not thunk.backends
    assert torch.backends.mps.is_available() is False
    assert torch.backends.cuda.is_built() is False
    for internal in ("base", "ir", "runtime", "dispatch", "compat"):
        assert not hasattr(torch, internal)
        assert internal not in dir(torch)
    assert torch.tensor([1]).tolist() == [1]
    assert torch.ops.aten.add.Tensor(torch.ones(1), torch.ones(1)).item() == 2.0


def test_missing_names_say_so(torch: Any) -> None:
    with pytest.raises(AttributeError) as caught:
        _ = torch.sofmax
    assert "this is Thunk" in str(caught.value)
    assert "torch.sofmax" in str(caught.value)
    assert "torch.softmax" in str(caught.value)
    importlib.import_module("torch.nn")
    with pytest.raises(AttributeError, match=r"torch\.nn\.Linear"):
        _ = torch.nn.linear
    with pytest.raises(ModuleNotFoundError, match="this is Thunk"):
        importlib.import_module("torch.nonsense")
    with pytest.raises(ImportError, match="nonsense"):
        exec("from torch import nonsense")
    assert not hasattr(torch, "nonsense")
    assert not hasattr(torch.nn, "__nonsense__")


def test_versions_are_honest(torch: Any) -> None:
    assert torch.__version__ is VERSION
    assert thunk.__version__ in torch.__version__
    assert importlib.metadata.version("torch") == torch.__version__
    assert torch.version.cuda is None
    assert importlib.util.find_spec("torch") is not None


def test_install_is_idempotent_and_refuses_the_real_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    if "torch" in sys.modules:
        pytest.skip("the real torch is loaded in this process")
    monkeypatch.setitem(sys.modules, "torch", sys)
    with pytest.raises(RuntimeError, match="the real one"):
        compat.install()
    monkeypatch.undo()
    compat.install()
    compat.install()
    assert sum(1 for each in sys.meta_path if each.__module__ == "thunk.compat.finder") <= 1
    compat.uninstall()
    assert not compat.is_installed()


@pytest.mark.parametrize(
    ("comparison", "holds"),
    [
        (VERSION >= "1.8", True), (VERSION > "1.10.0", True), (VERSION < "2.9", False),
        (VERSION >= (2, 0), True), (VERSION < (2, 13), False), (VERSION == "2.13.0", True),
        (VERSION != "2.12.1", True), (VERSION <= "2.13", True), (VERSION == str(VERSION), True),
        (VERSION > "3.0.0.dev20300101", False), (VERSION.split("+")[0] == "2.13.0", True),
        (tuple(map(int, VERSION.split(".")[:2])) == (2, 13), True),
    ],
)  # fmt: skip
def test_versions_compare(comparison: bool, holds: bool) -> None:
    assert comparison is holds


def test_switches_are_set_and_restored(torch: Any) -> None:
    cudnn = torch.backends.cudnn
    with cudnn.flags(enabled=False, benchmark=True):
        assert (cudnn.enabled, cudnn.benchmark) == (False, True)
    assert (cudnn.enabled, cudnn.benchmark) == (True, False)
    assert cudnn.set_flags(_benchmark=True)[1] is False
    assert cudnn.benchmark is True
    cudnn.benchmark = False
    with torch.backends.mkldnn.flags(enabled=False):
        assert torch.backends.mkldnn.enabled is False
    assert torch.backends.mkldnn.enabled is True
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cuda.enable_flash_sdp(False)
    assert not torch.backends.cuda.flash_sdp_enabled()
    torch.backends.cuda.enable_flash_sdp(True)


def test_compile_is_the_identity(torch: Any) -> None:
    def function(x: Any) -> Any:
        return x + 1

    assert torch.compile(function) is function
    assert torch.compile(mode="max-autotune", fullgraph=True)(function) is function
    assert torch.compiler.is_compiling() is False
    assert torch.compiler.disable(function) is function
    assert torch.compiler.disable()(function) is function
    with pytest.raises(RuntimeError, match="mode or options"):
        torch.compile(function, mode="default", options={})
    with pytest.raises(TypeError, match="function or a module"):
        torch.compile(3)
