"""`--tensorflow_session_config_file`: what a TensorFlow session's configuration means for tfport.

Its options for GPUs and threads are used; the others are about how TensorFlow runs a graph, and are named in
a warning.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tfport.errors import Error
from tfport.formats.files import reason
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.formats.proto import session_config_pb2 as pb

USED = ("gpu_options", "intra_op_parallelism_threads", "inter_op_parallelism_threads")
GPU_USED = ("per_process_gpu_memory_fraction", "visible_device_list", "allow_growth")
"""Memory is taken as models need it, with `allow_growth` or without."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
LARGEST_FILE = 1 << 20


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """The options that have a meaning here."""

    memory_fraction: float = 0.0
    visible_devices: tuple[int, ...] = ()
    """GPUs of this process, in the order of their numbers here; empty for all."""
    intra_op_threads: int = 0
    inter_op_threads: int = 0
    ignored: tuple[str, ...] = ()
    """The fields that are set and have no effect."""


def read_session_config(path: str) -> SessionConfig:
    """Read a ConfigProto text proto."""
    try:
        if os.path.getsize(path) > LARGEST_FILE:
            raise Error(f"{path}: expected at most {LARGEST_FILE:,} bytes of a ConfigProto")
        text = Path(path).read_text("utf-8")
    except OSError as error:
        raise Error(f"{path}: {reason(error)}") from None
    except UnicodeDecodeError:
        raise Error(f"{path}: a ConfigProto text proto must be UTF-8") from None
    return session_config_of(_parsed(text, path), path)


def session_config_of(config: pb.ConfigProto, path: str) -> SessionConfig:
    """Convert and check a ConfigProto."""
    gpu = config.gpu_options
    fraction = gpu.per_process_gpu_memory_fraction
    if not 0 <= fraction <= 1:
        raise Error(f"{path}: per_process_gpu_memory_fraction is {fraction:g}, expected 0 to 1")
    ignored = [field.name for field, _ in config.ListFields() if field.name not in USED]
    ignored += [f"gpu_options.{field.name}" for field, _ in gpu.ListFields() if field.name not in GPU_USED]
    return SessionConfig(
        fraction,
        _numbers(gpu.visible_device_list, path),
        max(config.intra_op_parallelism_threads, 0),
        max(config.inter_op_parallelism_threads, 0),
        tuple(ignored),
    )


def hide_other_gpus(visible: tuple[int, ...]) -> None:
    """Let this process see some of its GPUs only; before CUDA is used."""
    if not visible:
        return
    before = [name for name in os.environ.get(VISIBLE, "").split(",") if name]
    try:
        chosen = [before[number] if before else str(number) for number in visible]
    except IndexError:
        raise Error(
            f"visible_device_list has GPU {max(visible)}, and {VISIBLE} leaves {len(before)} of them"
        ) from None
    os.environ[VISIBLE] = ",".join(chosen)


def _parsed(text: str, path: str) -> pb.ConfigProto:
    from google.protobuf import text_format  # here, as few servers have such a file

    from tfport.formats.proto import session_config_pb2 as pb

    try:
        return text_format.Parse(text, pb.ConfigProto())
    except text_format.ParseError as error:
        if pb.OpaqueOptions.DESCRIPTOR.name not in str(error):
            raise Error(f"{path}: not a ConfigProto text proto: {error}") from None
    try:
        return text_format.Parse(text, pb.ConfigProto(), allow_unknown_field=True)
    except text_format.ParseError as error:
        raise Error(f"{path}: not a ConfigProto text proto: {error}") from None


def _numbers(text: str, path: str) -> tuple[int, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if wrong := next((name for name in names if not name.isdecimal()), None):
        raise Error(f"{path}: visible_device_list has `{wrong}`, expected numbers of GPUs such as 0,1")
    if len(set(names)) < len(names):
        raise Error(f"{path}: visible_device_list `{text}` names a GPU twice")
    return tuple(map(int, names))
