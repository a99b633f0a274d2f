"""File ops. A model may read its own files and may not write any."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from tfport.errors import RunFailed, UnreadableFile
from tfport.runtime.lower import Context, host
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import scalar_value

if TYPE_CHECKING:
    from tfport.formats.files import Files

_MAX_FILES = 100_000


@host("ReadFile")
def read_file(filename, *, context):
    return bytes(context.state.read_file(scalar_value(filename, "filename").decode(errors="replace")))


@host("MatchingFiles")
def matching_files(pattern, *, context):
    patterns = [_pattern(text.decode(errors="replace")) for text in pattern.reshape(-1).tolist()]
    matches = {name for name in _names(context) if any(p.fullmatch(name) for p in patterns)}
    return string_array([name.encode() for name in sorted(matches)])


def _names(context: Context) -> Iterator[str]:
    model = context.state.model
    if model is None:
        return
    files: Files = model.files
    folders = [""]
    count = 0
    while folders:
        folder = folders.pop()
        try:
            inside, deeper = files.list(folder)
        except UnreadableFile as error:
            raise RunFailed(str(error)) from None
        folders += [f"{folder}{name}/" for name in deeper]
        for name in inside:
            count += 1
            if count > _MAX_FILES:
                raise RunFailed(f"the model has more than {_MAX_FILES} files")
            yield f"{folder}{name}"


def _pattern(glob: str) -> re.Pattern[str]:
    """Compile a glob: `*` and `?` match anything but a slash, `[…]` a set; a backslash escapes."""
    out, at = [], 0
    while at < len(glob):
        c = glob[at]
        at += 1
        if c in "*?":
            out.append("[^/]" + ("*" if c == "*" else ""))
        elif c == "[" and (end := glob.find("]", at + 1)) > 0:
            inside = glob[at:end].replace("\\", "\\\\").replace("[", "\\[")
            out.append(f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]")
            at = end + 1
        elif c == "\\" and at < len(glob):
            out.append(re.escape(glob[at]))
            at += 1
        else:
            out.append(re.escape(c))
    try:
        return re.compile("".join(out), re.DOTALL)
    except re.error:
        raise RunFailed(f"invalid file name pattern `{glob}`") from None


@host("ShardedFilename")
def sharded_filename(basename, shard, num_shards):
    name, number, count = (
        scalar_value(basename, "basename"),
        scalar_value(shard, "shard"),
        scalar_value(num_shards, "num_shards"),
    )
    return name + b"-%05d-of-%05d" % (int(number), int(count))


@host("ShardedFilespec")
def sharded_filespec(basename, num_shards):
    return scalar_value(basename, "basename") + b"-?????-of-%05d" % int(
        scalar_value(num_shards, "num_shards")
    )


def _reject_writing() -> NoReturn:
    raise RunFailed("models may not write files")


@host("WriteFile")
def write_file(filename, contents):
    _reject_writing()


@host("SaveV2")
def save_v2(prefix, tensor_names, shape_and_slices, tensors):
    _reject_writing()


@host("Save")
def save(filename, tensor_names, data):
    _reject_writing()


@host("SaveSlices")
def save_slices(filename, tensor_names, shapes_and_slices, data):
    _reject_writing()


@host("MergeV2Checkpoints")
def merge_v2_checkpoints(checkpoint_prefixes, destination_prefix, *, delete_old_dirs, allow_missing_files):
    _reject_writing()
