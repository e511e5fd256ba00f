"""Every option of the framework, declared once: name, type, default, environment variable, help.

Enters: THUNK_* variables at import, assignments and overrides later. Leaves: plain attribute reads
(`config.eager`), a table for people, and the part of a cache key that options own.
Invariant: a value always has its option's type and lies among its choices.
"""

import difflib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

T = TypeVar("T")

PREFIX: Final = "THUNK_"
TRUE_WORDS: Final = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS: Final = frozenset({"", "0", "false", "no", "off"})


class Option(Generic[T]):
    """One declared option; as a class attribute of `Config` it reads as its value's type.

    There is no `__set__` at run time, so that an instance's own dictionary answers a read and
    options may be consulted on hot paths.
    """

    def __init__(
        self,
        default: T,
        help: str,
        *,
        changes_code: bool = False,
        choices: tuple[T, ...] = (),
    ) -> None:
        self.default = default
        self.help = help
        self.changes_code = changes_code
        self.choices = choices
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @property
    def kind(self) -> type[T]:
        """The Python type of every value of this option."""
        return type(self.default)

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.name.upper()

    def checked(self, value: object) -> T:
        """`value` if it is a legal one; an int is accepted where a float is wanted."""
        if self.kind is float and type(value) is int:
            value = float(value)
        if type(value) is not self.kind:
            raise TypeError(
                f"config.{self.name}: expected {self.kind.__name__}, got "
                f"{type(value).__name__} ({value!r}); {self.help}"
            )
        if self.choices and value not in self.choices:
            raise ValueError(
                f"config.{self.name}: expected one of {', '.join(map(repr, self.choices))}, "
                f"got {value!r}"
            )
        return value

    def parsed(self, text: str) -> T:
        """The value that an environment variable's text stands for."""
        word = text.strip().lower()
        value: object = text.strip()
        if self.kind is bool and word in TRUE_WORDS | FALSE_WORDS:
            value = word in TRUE_WORDS
        elif self.kind in (int, float):
            try:
                value = int(word) if self.kind is int else float(word)
            except ValueError:
                value = text
        try:
            return self.checked(value)
        except (TypeError, ValueError) as error:
            wanted = " or ".join(map(repr, self.choices)) or f"a value of type {self.kind.__name__}"
            raise ValueError(
                f"{self.variable}: expected {wanted}, got {text!r}; {self.help}"
            ) from error

    @overload
    def __get__(self, instance: None, owner: type) -> "Option[T]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object, owner: type) -> "Option[T] | T":
        return self if instance is None else self.default

    if TYPE_CHECKING:

        def __set__(self, instance: object, value: T) -> None: ...


class OptionSet:
    """Options declared in a subclass's body, with values; process-wide, not per thread."""

    _watchers: dict[str, list[Callable[[], None]]]
    _origins: dict[str, str]

    def __init__(self, environment: Mapping[str, str]) -> None:
        object.__setattr__(self, "_watchers", {})
        object.__setattr__(self, "_origins", {})
        for name, option in self.options().items():
            text = environment.get(option.variable)
            vars(self)[name] = option.default if text is None else option.parsed(text)
            self._origins[name] = "default" if text is None else option.variable
        self._warn_of_misspelt(environment)

    @classmethod
    def options(cls) -> dict[str, Option[Any]]:
        """Every declared option by name, in the order of declaration."""
        return {name: value for name, value in vars(cls).items() if isinstance(value, Option)}

    @classmethod
    def _option(cls, name: str) -> Option[Any]:
        try:
            return cls.options()[name]
        except KeyError:
            near = difflib.get_close_matches(name, cls.options(), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(cls.options())}"
            raise AttributeError(
                f"config: expected a declared option, got {name!r}; {hint}"
            ) from None

    def _warn_of_misspelt(self, environment: Mapping[str, str]) -> None:
        """Report a variable that differs from an option's by a few letters."""
        known = [option.variable for option in self.options().values()]
        for variable in sorted(environment):
            if variable.startswith(PREFIX) and variable not in known:
                for near in difflib.get_close_matches(variable, known, n=1, cutoff=0.8):
                    message = f"{variable} is set but no option reads it; did you mean {near}?"
                    warnings.warn(message, stacklevel=3)

    def __setattr__(self, name: str, value: object) -> None:
        value = self._option(name).checked(value)
        self._store({name: value}, {name: "assignment"})

    def __delattr__(self, name: str) -> None:
        """Back to the default."""
        self._store({name: self._option(name).default}, {name: "default"})

    if not TYPE_CHECKING:  # a type checker must go on to report names that are not declared

        def __getattr__(self, name: str) -> Any:
            return self._option(name).default

    def _store(self, values: Mapping[str, Any], origins: Mapping[str, str]) -> None:
        """Take the values and tell the watchers; if one refuses, everything stays as it was."""
        before = {name: vars(self)[name] for name in values}
        changed = [name for name, value in values.items() if before[name] != value]
        vars(self).update(values)
        try:
            self._tell(changed)
        except BaseException:
            vars(self).update(before)
            self._tell(changed)
            raise
        self._origins.update(origins)

    def _tell(self, changed: list[str]) -> None:
        for name in changed:
            for watcher in self._watchers.get(name, ()):
                watcher()

    @contextmanager
    def override(self, **values: Any) -> Iterator[None]:
        """Other values inside a `with` block; what stood before returns however it is left."""
        checked = {name: self._option(name).checked(value) for name, value in values.items()}
        before = {name: vars(self)[name] for name in checked}
        origins = {name: self._origins[name] for name in checked}
        self._store(checked, dict.fromkeys(checked, "override"))
        try:
            yield
        finally:
            self._store(before, origins)

    def watch(self, name: str, callback: Callable[[], None]) -> None:
        """Call `callback` after every change of the option `name`."""
        self._watchers.setdefault(self._option(name).name, []).append(callback)

    def cache_key(self) -> tuple[tuple[str, Any], ...]:
        """Name and value of each option that changes compiled code."""
        return tuple(
            (name, vars(self)[name])
            for name, option in self.options().items()
            if option.changes_code
        )

    def describe(self) -> str:
        """The table of options as text."""
        heads = ("option", "value", "default", "set by", "variable", "in cache keys", "help")
        lines = [heads]
        for name, option in self.options().items():
            keyed = "yes" if option.changes_code else "no"
            value, default = repr(vars(self)[name]), repr(option.default)
            origin = self._origins[name]
            lines.append((name, value, default, origin, option.variable, keyed, option.help))
        widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
            for line in lines
        )


class Config(OptionSet):
    """The framework's options."""

    debug = Option(0, "how much to check and keep for inspection; 0 is nothing extra")
    lazy = Option(True, "record operations and run them together when a value is needed")
    eager = Option(False, "run each operation at once on the reference backend, recording nothing")
    backend = Option("cpu", "what compiles and runs the graphs of lazy execution")
    interpret_first = Option(
        True, "run a small graph once on the reference backend before code is generated for it"
    )
    verify = Option(False, "check each result against the shape and dtype its operator declares")
    onednn = Option(True, "use oneDNN for matrix products and convolutions", changes_code=True)
    blas = Option(
        "auto",
        "whose matrix products to use where oneDNN is not: the first of numpy, scipy, own",
        changes_code=True,
        choices=("auto", "numpy", "scipy", "own"),
    )
    vectors = Option(
        "auto",
        "bits of the widest vectors in kernels; read when the first one is compiled",
        changes_code=True,
        choices=("auto", "512", "256"),
    )
    openmp = Option(
        True, "share work among threads; read when the first program is made, oneDNN needs it"
    )
    threads = Option(
        0, "how many threads one operator may use; 0: as many as there are cores",
        changes_code=True,
    )  # fmt: skip
    log = Option("", "what to print on stderr: LEVEL or LEVEL,part=LEVEL, as in info,lazy=debug")
    asynchronous = Option(True, "let Python go on while a compiled program runs")
    queue_depth = Option(16, "how many runs may wait for the thread that runs them, from 1 to 64")
    queue_megabytes = Option(1024, "how much memory the results of waiting runs may hold")
    lazy_compilation_cache_size = Option(1024, "how many compiled cuts are kept; 0 keeps none")
    lazy_compilation_cache_megabytes = Option(512, "how much memory compiled cuts may hold")
    lazy_enable_device_data_cache = Option(True, "keep the constants that traces use in memory")
    lazy_device_data_cache_size = Option(128, "how many constants are kept; 0 keeps none")
    lazy_force_fallback = Option(
        "", "operators to run by reference rules: names as in aten::sub, with commas between them"
    )
    lazy_longest_trace = Option(
        4096, "how many operations are recorded at most before they are run unasked"
    )
    lazy_largest_trace = Option(
        1024, "how many megabytes of results are recorded at most before they are run unasked"
    )
    lazy_paths = Option(200_000, "how many recorded operations are remembered, about")
    lazy_reuse_ir = Option(True, "record on the path that an earlier, equal trace made")
    lazy_max_async_queue = Option(100, "how many asynchronous step closures may wait")
    lazy_metrics_samples = Option(1024, "how many recent samples of a metric are kept")
    lazy_metrics_percentiles = Option(
        "0.01:0.05:0.1:0.2:0.5:0.8:0.9:0.95:0.99", "which percentiles the report of metrics shows"
    )
    lazy_save_graphs_file = Option("", "file to append each compiled graph to; empty: none")
    lazy_save_graphs_format = Option(
        "text", "how that file shows them", choices=("text", "dot", "backend")
    )
    cache_dir = Option("", "folder of compiled kernels; empty: the user's cache; none: no folder")
    cache_megabytes = Option(512, "how much the folder of compiled kernels may hold")


config: Final = Config(os.environ)
