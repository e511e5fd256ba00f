"""Enters: nothing. Leaves: what all parts of `Module` share: its tables and their types.

Invariant: parts of `Module` know each other only through this class.
"""

from __future__ import annotations

from typing import Any

from thunk.nn.modules.tables import HookTable, Members, Table
from thunk.nn.parameter import is_lazy


class ModuleBase:
    """The state of a module; `Module` adds what can be done with it."""

    _parameters = Table(Members)
    _buffers = Table(Members)
    _modules = Table(Members)
    _forward_hooks = Table(HookTable)
    _forward_pre_hooks = Table(HookTable)
    _backward_hooks = Table(HookTable)
    _backward_pre_hooks = Table(HookTable)

    # True until the instance knows better: a call then looks into the tables.
    _hooked: bool = True

    training: bool
    _non_persistent_buffers_set: set[str]
    _is_full_backward_hook: bool | None
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]
    _forward_pre_hooks_with_kwargs: dict[int, bool]
    _state_dict_hooks: dict[int, Any]
    _state_dict_pre_hooks: dict[int, Any]
    _load_state_dict_pre_hooks: dict[int, Any]
    _load_state_dict_post_hooks: dict[int, Any]

    def _get_name(self) -> str:
        return type(self).__name__

    def has_uninitialized_params(self) -> bool:
        """Whether some parameter or buffer of this module has no shape yet."""
        return any(is_lazy(each) for each in (*self._parameters.values(), *self._buffers.values()))
