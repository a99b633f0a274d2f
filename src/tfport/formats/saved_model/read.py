"""A SavedModel folder: its MetaGraphs by tag set, and where its variables and assets are.

The tensors of the variables stay unread: see `checkpoint`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tfport.errors import UnreadableFile
from tfport.formats.encoding.message import read_message
from tfport.formats.files import Files
from tfport.formats.proto import saved_model_pb2 as pb

VARIABLES = "variables/variables"
ASSETS = "assets"
FINGERPRINT = "fingerprint.pb"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class SavedModelFile:
    """What a SavedModel folder says."""

    proto: pb.SavedModel
    fingerprint: pb.FingerprintDef | None

    def tag_sets(self) -> list[tuple[str, ...]]:
        """The tags of each MetaGraph, in the order of the file."""
        return [tuple(sorted(m.meta_info_def.tags)) for m in self.proto.meta_graphs]


def read_saved_model(files: Files, name: str) -> SavedModelFile:
    """The SavedModel whose message is the file `name`, binary or text."""
    proto = read_message(pb.SavedModel, files, name)
    label = files.label(name)
    if proto.saved_model_schema_version != SCHEMA:
        raise UnreadableFile(
            f"{label}: expected SavedModel schema version {SCHEMA}, found {proto.saved_model_schema_version}"
        )
    if not proto.meta_graphs:
        raise UnreadableFile(f"{label}: expected at least one MetaGraph, found none; nothing was saved")
    fingerprint = None
    if files.has(FINGERPRINT):
        fingerprint = read_message(pb.FingerprintDef, files, FINGERPRINT)
    return SavedModelFile(proto, fingerprint)
