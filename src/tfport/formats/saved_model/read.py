"""Read a SavedModel folder: its MetaGraphs with their tags, and its fingerprint.

The variables are a checkpoint, which `checkpoint` reads.
"""

from __future__ import annotations

from tfport.errors import UnreadableFile
from tfport.formats.encoding.message import read_message
from tfport.formats.files import Files
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.startup.dataclass import dataclass

VARIABLES = "variables/variables"
ASSETS = "assets"
FINGERPRINT = "fingerprint.pb"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class SavedModelFile:
    """The messages of a SavedModel folder."""

    proto: pb.SavedModel
    fingerprint: pb.FingerprintDef | None

    def tag_sets(self) -> list[tuple[str, ...]]:
        """The tags of each MetaGraph, in the order of the file."""
        return [tuple(sorted(m.meta_info_def.tags)) for m in self.proto.meta_graphs]


def read_saved_model(files: Files, name: str) -> SavedModelFile:
    """Read the SavedModel in the file `name`, binary or text."""
    proto = read_message(pb.SavedModel, files, name)
    label = files.label(name)
    if proto.saved_model_schema_version != SCHEMA:
        raise UnreadableFile(
            f"{label}: expected SavedModel schema version {SCHEMA}, found {proto.saved_model_schema_version}"
        )
    if not proto.meta_graphs:
        raise UnreadableFile(f"{label}: expected at least one MetaGraph, found none")
    fingerprint = None
    if files.has(FINGERPRINT):
        fingerprint = read_message(pb.FingerprintDef, files, FINGERPRINT)
    return SavedModelFile(proto, fingerprint)
