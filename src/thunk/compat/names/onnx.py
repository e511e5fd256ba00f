"""`torch.onnx`: export to another format, which this build does not do."""

from __future__ import annotations

from typing import Any, NoReturn


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: never."""
    return False


def export(model: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused."""
    raise RuntimeError(
        "onnx.export: expected PyTorch, got Thunk, which writes no ONNX files; save the state_dict "
        "with torch.save and export with PyTorch"
    )
