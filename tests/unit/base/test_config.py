"""Options: declared once, checked wherever a value comes from, restored after an override."""

import subprocess
import sys
import warnings
from typing import Any

import pytest

from thunk.base.config import Config, Option, OptionSet, config


class Sample(OptionSet):
    level = Option(0, "a number")
    fast = Option(False, "a flag", changes_code=True)
    ratio = Option(0.5, "a real number")
    mode = Option("plain", "a choice", changes_code=True, choices=("plain", "fancy"))


def sample(**environment: str) -> Sample:
    return Sample(environment)


def test_defaults_and_environment() -> None:
    options = sample(THUNK_LEVEL=" 3 ", THUNK_FAST="Yes", OTHER="1")
    assert (options.level, options.fast, options.ratio, options.mode) == (3, True, 0.5, "plain")


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("true", True), ("on", True), ("0", False), ("", False)]
)
def test_words_for_a_flag(text: str, value: bool) -> None:
    assert sample(THUNK_FAST=text).fast is value


@pytest.mark.parametrize(
    "environment",
    [{"THUNK_LEVEL": "much"}, {"THUNK_FAST": "maybe"}, {"THUNK_MODE": "loud"}, {"THUNK_RATIO": ""}],
)
def test_a_bad_variable_is_named(environment: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(environment))}: expected .*, got "):
        Sample(environment)


def test_a_misspelt_variable_is_reported() -> None:
    with pytest.warns(UserWarning, match="THUNK_LEVLE is set.*did you mean THUNK_LEVEL"):
        sample(THUNK_LEVLE="3")


def test_a_variable_that_resembles_no_option_is_left_alone() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sample(THUNK_SOMETHING_ELSE="3")


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("level", "3", TypeError),
        ("level", True, TypeError),
        ("fast", 1, TypeError),
        ("mode", "loud", ValueError),
        ("levle", 3, AttributeError),
    ],
)
def test_a_bad_assignment_changes_nothing(name: str, value: Any, kind: type[Exception]) -> None:
    options = sample()
    before = options.describe()
    with pytest.raises(kind, match="expected"):
        setattr(options, name, value)
    with pytest.raises(kind, match="expected"), options.override(**{name: value}):
        raise AssertionError("an override with a bad value must not begin")
    assert options.describe() == before


def test_a_typing_mistake_is_answered_with_the_right_name() -> None:
    with pytest.raises(AttributeError, match="did you mean 'level'"):
        getattr(sample(), "levle")  # noqa: B009  a plain access is an error to the type checker


def test_an_int_serves_as_a_float() -> None:
    options = sample()
    options.ratio = 1
    assert type(options.ratio) is float


def test_override_restores_even_after_an_exception() -> None:
    options = sample(THUNK_LEVEL="2")
    with pytest.raises(KeyError), options.override(level=5, fast=True):
        with options.override(level=6):
            assert (options.level, options.fast) == (6, True)
        assert options.level == 5
        raise KeyError
    assert (options.level, options.fast) == (2, False)
    assert "THUNK_LEVEL" in options.describe().splitlines()[1].split()


def test_deleting_restores_the_default() -> None:
    options = sample(THUNK_LEVEL="2")
    del options.level
    assert options.level == 0


def test_watchers_hear_changes_only_and_can_refuse() -> None:
    options = sample()
    heard: list[int] = []

    def watcher() -> None:
        if options.level > 9:
            raise ValueError("too much")
        heard.append(options.level)

    options.watch("level", watcher)
    options.level = 0
    assert heard == []
    with options.override(level=4):
        pass
    assert heard == [4, 0]
    with pytest.raises(ValueError, match="too much"):
        options.level = 10
    assert options.level == 0
    with pytest.raises(AttributeError):
        options.watch("levle", watcher)


def test_only_what_changes_code_is_in_the_cache_key() -> None:
    options = sample()
    assert options.cache_key() == (("fast", False), ("mode", "plain"))
    options.level = 7
    assert options.cache_key() == sample().cache_key()
    options.mode = "fancy"
    assert options.cache_key() != sample().cache_key()


def test_the_table_names_every_option_of_the_framework() -> None:
    table = config.describe()
    for name, option in Config.options().items():
        assert option.help
        line = next(line for line in table.splitlines() if line.startswith(name + " "))
        assert option.variable in line
        assert option.help in line


def test_the_environment_reaches_a_new_process() -> None:
    code = "from thunk.base.config import config; print(config.eager, config.debug)"
    environment = {"THUNK_EAGER": "1", "THUNK_DEBUG": "2", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "2"]
