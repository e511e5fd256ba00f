"""Enters: numbers, pictures and texts of a run. Leaves: an event file in the run's folder.

Invariant: what was added is in the file after `flush` or `close`, and soon without them.
"""

from __future__ import annotations

import datetime
import os
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy

from thunk.runtime.tensors import array_from
from thunk.types.tensor_base import TensorBase
from thunk.utils.tensorboard import events
from thunk.vision.png import encoded


def _array(value: Any) -> numpy.ndarray:
    if isinstance(value, TensorBase):
        tensor: Any = value
        return array_from(tensor.detach().cpu())
    return numpy.asarray(value)


class SummaryWriter:
    """Writes what TensorBoard shows of a run."""

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        now = datetime.datetime.now().strftime("%b%d_%H-%M-%S")
        self.log_dir = str(log_dir or Path("runs") / f"{now}_{socket.gethostname()}{comment}")
        self.purge_step = purge_step
        self._flush_secs = flush_secs
        self._flushed = time.time()
        self._children: dict[str, SummaryWriter] = {}
        self._closed = False
        folder = Path(self.log_dir)
        folder.mkdir(parents=True, exist_ok=True)
        stamp = f"{time.time_ns():019d}.{socket.gethostname()}.{os.getpid()}"
        self._path = folder / f"events.out.tfevents.{stamp}{filename_suffix}"
        self._pending = [events.first_event(time.time())]
        self.flush()

    def get_logdir(self) -> str:
        """The run's folder."""
        return self.log_dir

    def _add(self, values: list[bytes], step: int | None, wall_time: float | None) -> None:
        moment = time.time() if wall_time is None else wall_time
        self._pending.append(events.event(moment, int(step or 0), values))
        if time.time() - self._flushed > self._flush_secs:
            self.flush()

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A number."""
        value = _array(scalar_value)
        if value.size != 1:
            raise AssertionError(f"add_scalar: expected a scalar, got shape {value.shape}")
        self._add([events.scalar(tag, float(value.reshape(())))], global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Numbers that belong in one diagram, each in a run of its own."""
        for name, value in tag_scalar_dict.items():
            folder = f"{self.log_dir}/{main_tag.replace('/', '_')}_{name}"
            child = self._children.get(folder)
            if child is None:
                child = self._children[folder] = SummaryWriter(folder)
            child.add_scalar(main_tag, value, global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: str | int = "auto",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """How values are distributed."""
        self._add([events.histogram(tag, _array(values), bins)], global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """A picture: bytes, or numbers between zero and one."""
        picture = _array(img_tensor)
        if len(dataformats) != picture.ndim:
            raise AssertionError(
                f"add_image: expected dimensions {dataformats}, got shape {picture.shape}"
            )
        if "C" in dataformats:
            picture = picture.transpose([dataformats.index(axis) for axis in "HWC"])
        else:
            picture = picture[:, :, None]
        if picture.dtype != numpy.uint8:
            picture = (numpy.clip(picture.astype(numpy.float64), 0, 1) * 255).astype(numpy.uint8)
        height, width, channels = picture.shape
        content = encoded(numpy.ascontiguousarray(picture))
        self._add([events.image(tag, height, width, channels, content)], global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Pictures of one size, side by side."""
        batch = _array(img_tensor).transpose([dataformats.index(axis) for axis in "NCHW"])
        row = numpy.concatenate(list(batch), axis=2)
        self.add_image(tag, row, global_step, walltime)

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """A text, in Markdown."""
        self._add([events.text(tag, text_string)], global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """The settings of a run as a table, and what came of them as numbers."""
        rows = [f"| {name} | {value} |" for name, value in hparam_dict.items()]
        self.add_text("hparams", "\n".join(["| name | value |", "|---|---|", *rows]), global_step)
        for name, value in metric_dict.items():
            self.add_scalar(name, value, global_step)

    def flush(self) -> None:
        """Bring everything so far into the file."""
        if self._closed:
            raise ValueError("SummaryWriter: expected an open writer, got one that was closed")
        with self._path.open("ab") as file:
            file.write(b"".join(self._pending))
        self._pending = []
        self._flushed = time.time()
        for child in self._children.values():
            child.flush()

    def close(self) -> None:
        """Bring everything into the file and end."""
        if not self._closed:
            self.flush()
            self._closed = True
            for child in self._children.values():
                child.close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()
