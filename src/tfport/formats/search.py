"""Which model a tree of files holds: what lies in its top folder, and what lies below.

A folder is asked in a fixed order: a SavedModel, numbered versions (as
TensorFlow Serving keeps them, the newest counts), a TensorFlow.js graph model,
a list of checkpoints, a MetaGraph, a checkpoint's index, a GraphDef. The first
answer counts; several models of one sort are an error that names them.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tfport.errors import Error, NotAModel, UnreadableFile
from tfport.formats import foreign
from tfport.formats.files import Files, Folder
from tfport.formats.foreign import Foreign
from tfport.formats.kinds import Kind, identify

SHARD = re.compile(r"(.+)\.data-\d{5}-of-\d{5}")
SHARD_V1 = re.compile(r"(.+)-\d{5}-of-\d{5}")
TFJS_SHARD = re.compile(r"group\d+-shard\d+of\d+(\.bin)?")
GRAPHS = (Kind.GRAPH_DEF, Kind.META_GRAPH, Kind.SAVED_MODEL)
MOST_LOOKED_AT = 500
"""So many files of one folder are opened to see what they are."""
MOST_FOLDERS = 2000


@dataclass(frozen=True, slots=True)
class Found:
    """A model: its kind, and the file to begin with."""

    kind: Kind
    files: Files
    name: str
    """A file of `files`; of a checkpoint its prefix."""
    where: str
    """The model as a person names it, for messages."""


def model_at(files: Files, name: str) -> Found:
    """The model that one file is, or is a part of. A file of a SavedModel means its folder."""
    if shard := SHARD.fullmatch(name):
        return whole_checkpoint(files, shard[1])
    kind = look(files, name)
    if kind is foreign.STATE:
        return latest(files, name)
    if isinstance(kind, Foreign):
        raise refusal(foreign.TFJS_SHARD if TFJS_SHARD.fullmatch(name) else kind, files.label(name))
    if kind is Kind.CHECKPOINT:
        v1 = SHARD_V1.fullmatch(name)
        name = v1[1] if v1 else name.removesuffix(".index")
    whole_folder = name in ("saved_model.pb", "saved_model.pbtxt") and files.where
    return Found(kind, files, name, files.where if whole_folder else files.label(name))


def look(files: Files, name: str) -> Kind | Foreign:
    """What a file is."""
    if not files.has(name):
        raise UnreadableFile(f"{files.label(name)}: {missing_link(files, name)}")
    return identify(files.map(name), files.label(name))


def missing_link(files: Files, name: str) -> str:
    path = os.path.join(files.where, name)
    if not isinstance(files, Folder) or not os.path.islink(path):
        return "not a plain file"
    target = os.readlink(path)
    fetch = "; fetch it with `git annex get`" if "annex/objects" in target else ""
    return f"a link to {target}, which is not there{fetch}"


def refusal(found: Foreign, where: str) -> UnreadableFile:
    return (UnreadableFile if found.broken else NotAModel)(found.sentence(where))


def checkpoint_at(files: Files, prefix: str) -> Found | None:
    """The checkpoint of this prefix, in either format."""
    names = files.list()[0]
    v1 = any((shard := SHARD_V1.fullmatch(name)) and shard[1] == prefix for name in names)
    if prefix + ".index" in names or v1:
        return Found(Kind.CHECKPOINT, files, prefix, files.label(prefix))
    if any((shard := SHARD.fullmatch(name)) and shard[1] == prefix for name in names):
        raise UnreadableFile(
            f"{files.label(prefix)}: the data of a checkpoint, but no {prefix}.index beside it"
        )
    return None


def whole_checkpoint(files: Files, prefix: str) -> Found:
    found = checkpoint_at(files, prefix)
    if found is None:
        raise UnreadableFile(
            f"{files.label(prefix)}: expected {prefix}.index beside the data of a checkpoint"
        )
    return found


def latest(files: Files, name: str) -> Found:
    """The model that a `checkpoint` file names; with its graph, if that was saved too.

    The paths in it are those of the machine that wrote it, so only the last part counts.
    """
    from tfport.formats.encoding.message import read_message
    from tfport.formats.proto.checkpoint_pb2 import CheckpointState

    path = read_message(CheckpointState, files, name).model_checkpoint_path
    prefix = path.replace("\\", "/").rpartition("/")[2]
    if prefix and files.has(prefix + ".meta"):
        return model_at(files, prefix + ".meta")
    if prefix and (found := checkpoint_at(files, prefix)):
        return found
    if prefix and files.has(prefix):
        return model_at(files, prefix)
    raise UnreadableFile(f"{files.label(name)}: names the checkpoint `{prefix}`, which is not beside it")


def models_in(files: Files) -> list[Found]:
    """The models directly in the top folder, of the first sort that is there."""
    names, folders = files.list()
    sorts: list[Callable[[], list[Found]]] = [
        lambda: saved_models(files, names),
        lambda: newest_version(files, folders),
        lambda: of_kind(files, [n for n in names if n == "model.json"] or ending(names, ".json"), Kind.TFJS),
        lambda: [latest(files, n) for n in names if n == "checkpoint" and look(files, n) is foreign.STATE],
        lambda: of_kind(files, ending(names, ".meta"), Kind.META_GRAPH),
        lambda: of_kind(files, ending(names, ".index"), Kind.CHECKPOINT),
        lambda: of_kind(files, ending(names, ".pb"), *GRAPHS),
        lambda: of_kind(files, ending(names, ".pbtxt"), *GRAPHS),
    ]
    return next((found for sort in sorts if (found := sort())), [])


def ending(names: Iterable[str], suffix: str) -> list[str]:
    return [name for name in names if name.endswith(suffix)]


def of_kind(files: Files, names: list[str], *kinds: Kind) -> list[Found]:
    return [
        model_at(files, name)
        for name in names[:MOST_LOOKED_AT]
        if files.has(name) and identify(files.map(name), files.label(name)) in kinds
    ]


def saved_models(files: Files, names: list[str]) -> list[Found]:
    for name in ("saved_model.pb", "saved_model.pbtxt"):
        if name in names:
            return [model_at(files, name)]
    if "saved_model.cpb" in names:
        raise refusal(foreign.SPLIT, files.label("saved_model.cpb"))
    return []


def newest_version(files: Files, folders: list[str]) -> list[Found]:
    """The SavedModel in the numbered folder of the highest number that holds one."""
    numbered = [f for f in folders if f.isascii() and f.isdigit() and len(f) < 20]
    for folder in sorted(numbered, key=int, reverse=True):
        version = files.under(folder)
        if found := saved_models(version, version.list()[0]):
            return found
    return []


def models_below(files: Files, levels: int) -> tuple[list[Found], list[Error]]:
    """All models in a tree, so many levels down, and what went wrong in looking."""
    found: list[Found] = []
    errors: list[Error] = []
    folders = [(files, levels)]
    for folder, left in folders:  # grows as it goes
        try:
            here = models_in(folder)
            found += here
            inside = [] if any(is_folder(f) for f in here) or left == 0 else folder.list()[1]
        except Error as error:
            errors.append(error)
            inside = []
        room = MOST_FOLDERS - len(folders)
        folders += [(folder.under(f), left - 1) for f in inside[: max(0, room)] if not f.startswith(".")]
    return found, errors


def is_folder(found: Found) -> bool:
    """Whether all below is part of this model, or an older version of it."""
    return found.kind is Kind.SAVED_MODEL and posixpath.splitext(found.name)[0] == "saved_model"
