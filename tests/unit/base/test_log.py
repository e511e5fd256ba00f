"""The logger follows `config.log`; a warning is said once, at the user's line."""

import logging
import warnings

import pytest

from thunk.base import log
from thunk.base.config import config


def test_levels_by_part() -> None:
    with config.override(log="info,lazy=debug"):
        assert log.logger().getEffectiveLevel() == logging.INFO
        assert log.logger("lazy").getEffectiveLevel() == logging.DEBUG
        assert log.logger("compiler").getEffectiveLevel() == logging.INFO
        assert not log.logger().propagate
    with config.override(log="compiler=error"):
        assert log.logger("lazy").level == logging.NOTSET


def test_nothing_is_added_unless_asked_for() -> None:
    with config.override(log=""):
        assert log.logger().propagate
        assert log.logger().handlers == []


def test_one_handler_however_often_the_level_changes() -> None:
    with config.override(log="info"), config.override(log="debug"):
        assert len(log.logger().handlers) == 1


@pytest.mark.parametrize("text", ["loud", "lazy=", "info,lazy=loud", "lazy"])
def test_a_bad_level_is_refused_and_the_old_one_stays(text: str) -> None:
    with config.override(log="error"):
        with pytest.raises(ValueError, match=r"config\.log: expected one of"):
            config.log = text
        assert config.log == "error"
        assert log.logger().level == logging.ERROR


def test_a_warning_is_said_once_at_the_users_line() -> None:
    log.forget_warnings()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(3):
            log.warn_once("the same message")
        log.warn_once("another message")
        log.warn_once("the same message", FutureWarning)
    assert [str(one.message) for one in said] == [
        "the same message",
        "another message",
        "the same message",
    ]
    assert {one.filename for one in said} == {__file__}
    log.forget_warnings()


def test_the_users_line_is_found_through_frames_of_the_framework() -> None:
    log.forget_warnings()
    inside = {"__name__": "thunk.somewhere", "warn_once": log.warn_once}
    exec("def deep():\n    warn_once('from far inside')\ndef outer():\n    deep()", inside)
    with pytest.warns(UserWarning, match="from far inside") as said:
        inside["outer"]()  # type: ignore[operator]  # defined by the text above
    assert said[0].filename == __file__
