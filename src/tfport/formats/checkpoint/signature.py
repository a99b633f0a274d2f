"""How a checkpoint is recognized: by the magic number at the end of its table, or by its file names.

A checkpoint is several files with a common prefix. It can be referred to by any of them, by the
prefix, or by the `checkpoint` file that lists the checkpoints of a folder.
"""

from __future__ import annotations

import re

from tfport.errors import UnreadableFile
from tfport.formats.checkpoint.table import FOOTER, MAGIC
from tfport.formats.files import Files
from tfport.formats.format import ModelFormat, ModelLocation, Sample, with_suffix

DATA_SHARD = re.compile(r"(.+)\.data-\d{5}-of-\d{5}")
V1_SHARD = re.compile(r"(.+)-\d{5}-of-\d{5}")
STATE_FIELDS = (b"model_checkpoint_path", b"all_model_checkpoint_paths")


def is_table(sample: Sample) -> bool:
    return sample.data[-8:] == MAGIC and len(sample.data) >= FOOTER


def locate(files: Files, name: str) -> ModelLocation:
    """The checkpoint that an index, or a file of a V1 checkpoint, belongs to."""
    shard = V1_SHARD.fullmatch(name)
    return at_prefix(files, shard[1] if shard else name.removesuffix(".index"))


def at_prefix(files: Files, prefix: str) -> ModelLocation:
    return ModelLocation(CHECKPOINT, files, prefix, files.label(prefix))


def find_prefix(files: Files, prefix: str) -> ModelLocation | None:
    """The checkpoint with this prefix, V1 or V2; an error if only its data is left."""
    names = files.list()[0]
    if prefix + ".index" in names or _has_shard(names, V1_SHARD, prefix):
        return at_prefix(files, prefix)
    if _has_shard(names, DATA_SHARD, prefix):
        raise UnreadableFile(
            f"{files.label(prefix)}: checkpoint data without its index; {prefix}.index is missing"
        )
    return None


def _has_shard(names: list[str], pattern: re.Pattern[str], prefix: str) -> bool:
    return any((shard := pattern.fullmatch(name)) and shard[1] == prefix for name in names)


def locate_data(files: Files, name: str) -> ModelLocation:
    """The checkpoint that a data shard belongs to."""
    shard = DATA_SHARD.fullmatch(name)
    prefix = shard[1] if shard else name
    location = find_prefix(files, prefix)
    if location is None:
        raise UnreadableFile(f"{files.label(prefix)}: expected {prefix}.index next to the checkpoint's data")
    return location


def locate_latest(files: Files, name: str) -> ModelLocation | str:
    """The latest checkpoint of a `checkpoint` file, or its MetaGraph if that was saved too.

    The paths in it are those of the machine that wrote it, so only their last part counts.
    """
    from tfport.formats.encoding.message import read_message
    from tfport.formats.proto.checkpoint_pb2 import CheckpointState

    path = read_message(CheckpointState, files, name).model_checkpoint_path
    prefix = path.replace("\\", "/").rpartition("/")[2]
    if prefix and files.has(prefix + ".meta"):
        return prefix + ".meta"
    if prefix and (location := find_prefix(files, prefix)):
        return location
    if prefix and files.has(prefix):
        return prefix
    raise UnreadableFile(f"{files.label(name)}: lists the checkpoint `{prefix}`, which is not next to it")


CHECKPOINT = ModelFormat(
    "checkpoint",
    is_table,
    key="checkpoint",
    locate=locate,
    folder_rank=7,
    candidates=lambda names: [with_suffix(names, ".index")],
    accepts=("checkpoint",),
)
CHECKPOINT_DATA = ModelFormat(
    "checkpoint data shard",
    lambda sample: DATA_SHARD.fullmatch(sample.name) is not None,
    key="checkpoint_data",
    locate=locate_data,
)
CHECKPOINT_STATE = ModelFormat(
    "list of checkpoints",
    lambda sample: sample.text_field in STATE_FIELDS,
    key="checkpoint_state",
    locate=locate_latest,
    folder_rank=5,
    candidates=lambda names: [[name for name in names if name == "checkpoint"]],
    accepts=("checkpoint_state",),
)
