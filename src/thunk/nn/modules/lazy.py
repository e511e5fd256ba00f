"""Enters: a module class whose sizes follow from its input. Leaves: what makes it wait for it.

Invariant: a lazy module has uninitialised parameters, an initialising hook and a load hook; once
initialised, by a first call or by loading, it has neither and is of the class it stands for.
"""

from __future__ import annotations

from typing import Any, NoReturn

from thunk.dispatch.state import no_grad_recording
from thunk.lazy.eager import eager
from thunk.nn.modules.module_base import ModuleBase
from thunk.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin(ModuleBase):
    """Stands before a module class in the bases of its lazy form.

    The lazy class creates uninitialised parameters, gives them their shapes in
    `initialize_parameters(*args, **kwargs)`, called with what the first forward is called with,
    and names in `cls_to_become` the class it turns into. `sizes_from_parameters` sets the sizes
    from the shapes of loaded parameters and returns True; without it a module that was loaded
    stays lazy until its first call.
    """

    cls_to_become: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Nothing of parameters that are replaced at once shall be part of the first program.
        with eager():
            super().__init__(*args, **kwargs)
        module: Any = self
        self._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = module.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialise all parameters, given the arguments of the first forward."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def sizes_from_parameters(self) -> bool:
        """Set the sizes that follow from the shapes of loaded parameters."""
        return False

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """The pre-hook of the first forward."""
        # Op by op: parameters are filled where they are, and what is recorded so far stays so.
        with eager():
            module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._become_initialized()

    def _become_initialized(self) -> None:
        self._initialize_hook.remove()
        self._load_hook.remove()
        del self._initialize_hook
        del self._load_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become

    def _lazy_load_hook(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
        missing_keys: Any, unexpected_keys: Any, error_msgs: Any,
    ) -> None:  # fmt: skip
        """Give own tensors without a shape the shape of what is about to be loaded."""
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            loaded = state_dict.get(prefix + name)
            if loaded is not None and is_lazy(tensor) and not is_lazy(loaded):
                with no_grad_recording():
                    tensor.materialize(loaded.shape)

    def _load_from_state_dict(self, *args: Any) -> None:
        module: Any = super()
        module._load_from_state_dict(*args)
        waits = "_initialize_hook" in self.__dict__
        if waits and not self.has_uninitialized_params() and self.sizes_from_parameters():
            self._become_initialized()

    def _replicate_for_data_parallel(self) -> NoReturn:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy "
            "forward pass to correctly initialize the modules"
        )
