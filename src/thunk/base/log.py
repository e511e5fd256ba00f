"""One logger for the framework, and warnings that are said once.

Enters: messages, and levels from `config.log` (THUNK_LOG). Leaves: lines on stderr, if asked for.
Invariant: without THUNK_LOG the host application's logging set-up decides, and nothing is added.
"""

import logging
import sys
import warnings
from typing import Final

from thunk.base.config import config

ROOT: Final = "thunk"
LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}

_said: set[tuple[type[Warning], str]] = set()
_adjusted: set[str] = set()
_handler: Final = logging.StreamHandler()
_handler.setFormatter(logging.Formatter("%(name)s %(levelname)s: %(message)s"))


def logger(part: str = "") -> logging.Logger:
    """The framework's logger, or the one of a named part (`lazy`, `compiler`)."""
    return logging.getLogger(f"{ROOT}.{part}" if part else ROOT)


def parse_levels(text: str) -> dict[str, int]:
    """Level by part from `info,lazy=debug`; the empty part is the framework as a whole."""
    levels: dict[str, int] = {}
    for item in filter(None, (piece.strip() for piece in text.split(","))):
        part, _, word = item.rpartition("=")
        if word.lower() not in LEVELS:
            raise ValueError(
                f"config.log: expected one of {', '.join(LEVELS)}, got {word!r} in {text!r}; "
                "write LEVEL or LEVEL,part=LEVEL"
            )
        levels[part] = LEVELS[word.lower()]
    return levels


def _apply() -> None:
    """Give every logger the level that `config.log` states."""
    levels = parse_levels(config.log)
    for part in _adjusted - levels.keys():
        logger(part).setLevel(logging.NOTSET)
    _adjusted.clear()
    for part, level in levels.items():
        logger(part).setLevel(level)
        _adjusted.add(part)
    root = logger()
    root.propagate = not levels
    if levels:
        root.addHandler(_handler)
    else:
        root.removeHandler(_handler)


def warn_once(message: str, category: type[Warning] = UserWarning) -> None:
    """A Python warning at the user's line, the first time this message comes up."""
    if (category, message) in _said:
        return
    _said.add((category, message))
    warnings.warn(message, category, stacklevel=_depth_of_user())


def forget_warnings() -> None:
    """Let every message be said again; tests and notebooks use it."""
    _said.clear()


def _depth_of_user() -> int:
    """The stack level, as `warnings.warn` counts it, of the first frame outside the framework."""
    frame = sys._getframe(1)
    level = 1
    while frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        if name != ROOT and not name.startswith(f"{ROOT}."):
            break
        frame = frame.f_back
        level += 1
    return level


config.watch("log", _apply)
_apply()
