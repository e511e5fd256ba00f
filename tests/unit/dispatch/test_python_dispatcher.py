"""PythonDispatcher: its texts, its refusals, and that experiments are isolated."""

import re
from pathlib import Path

import pytest

from thunk._python_dispatcher import PythonDispatcher
from thunk.dispatch import python_dispatcher
from thunk.dispatch.keys import DispatchKey, runtime_keys
from thunk.dispatch.registry import registry

REGISTRATIONS = """
Registered Kernels
key             kernel
---------------------------
FPGA            fn_FPGA
AutogradOther   fn_AutogradOther
CPU             fn_CPU
CompositeImplicitAutograd[alias] fn_CompositeImplicitAutograd
"""

TABLE = """
Computed Dispatch Table
key             kernel
---------------------------
CPU             fn_CPU [kernel]
XLA             fn_CompositeImplicitAutograd [math kernel]
Lazy            fn_CompositeImplicitAutograd [math kernel]
FPGA            fn_FPGA [kernel]
AutogradOther   ambiguous_autogradother [ambiguous autogradother]
AutogradCPU     [backend fallback]
AutogradXLA     fn_CompositeImplicitAutograd [math kernel]
AutogradLazy    fn_CompositeImplicitAutograd [math kernel]
"""


def test_registrations_text() -> None:
    dispatcher = PythonDispatcher()
    dispatcher.register(["CPU", "CompositeImplicitAutograd", "AutogradOther", "FPGA"])
    assert dispatcher.registrations() == REGISTRATIONS


def test_table_text() -> None:
    dispatcher = PythonDispatcher()
    dispatcher.register(["CPU", "FPGA", "CompositeImplicitAutograd"])
    assert dispatcher.dispatchTable() == TABLE


def test_keys_without_a_kernel_are_left_out() -> None:
    table = PythonDispatcher().dispatchTable()
    assert table.count("[backend fallback]") == 4
    assert "CPU             " not in table.replace("AutogradCPU", "")


def test_a_second_registration_shadows_the_first() -> None:
    dispatcher = PythonDispatcher()
    dispatcher.register(["CPU"])
    dispatcher.register(["CPU"])
    assert "CPU             fn_CPU\nCPU (inactive)  fn_CPU\n" in dispatcher.registrations()


def test_raw_texts_name_this_file_and_every_key() -> None:
    dispatcher = PythonDispatcher()
    dispatcher.register(["CPU", "Autograd", "CompositeImplicitAutograd"])
    function = test_raw_texts_name_this_file_and_every_key.__code__
    made_at = f"{__file__}:{function.co_firstlineno + 1}"
    registered_at = f"{__file__}:{function.co_firstlineno + 2}"
    assert dispatcher.rawRegistrations().splitlines()[:5] == [
        "name: __test__::foo",
        "schema: __test__::foo(Tensor x) -> Tensor",
        f"debug: registered at {made_at}",
        "alias analysis kind: FROM_SCHEMA",
        f"CPU: fn_CPU registered at {registered_at} :: (Tensor x) -> Tensor [ unboxed ]",
    ]
    raw_table = dispatcher.rawDispatchTable()
    assert [line.split(":")[0] for line in raw_table.splitlines()] == [
        key.name for key in runtime_keys()
    ]
    assert f"CPU: fn_CPU registered at {registered_at} [kernel]\n" in raw_table
    assert "AutocastCPU: fallthrough registered at " in raw_table


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (["CPU", "XLA", "CPU"], "Overridden is not allowed"),
        (["CompositeImplicitAutograd", "CompositeExplicitAutograd"], "both .* is not allowed"),
        (["Meta"], "Meta is not supported"),
    ],
)
def test_refusals(keys: list[str], words: str) -> None:
    dispatcher = PythonDispatcher()
    empty = dispatcher.registrations()
    with pytest.raises(RuntimeError, match=words):
        dispatcher.register(keys)
    assert dispatcher.registrations() == empty


def test_experiments_are_isolated() -> None:
    version = registry.version
    one, other = PythonDispatcher(), PythonDispatcher()
    one.register(["CPU"])
    assert "fn_CPU" not in other.registrations()
    assert registry.version == version
    assert registry.find("__test__::foo") is None


def test_the_kernels_are_examples() -> None:
    row = PythonDispatcher()._entry.row(DispatchKey.AutogradCPU)
    with pytest.raises(NotImplementedError, match="expected its tables to be read"):
        row.function()


def test_the_readme_shows_what_its_code_prints(capsys: pytest.CaptureFixture[str]) -> None:
    readme = Path(python_dispatcher.__file__).with_name("README.md").read_text(encoding="utf-8")
    code, shown = re.findall(r"```(?:python|text)\n(.*?)```", readme, flags=re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out.strip() == shown.strip()
