"""How a SavedModel is recognized: by the file `saved_model.pb`, or by the structure of its message.

Other files of a SavedModel folder have rows here too.
"""

from __future__ import annotations

import posixpath

from tfport.formats.encoding.wire import LENGTH, VARINT, Layout, structure_of
from tfport.formats.files import Files
from tfport.formats.format import ModelFormat, ModelLocation, OtherFile, Sample
from tfport.formats.graph_def.signature import META_GRAPH_FIELDS, has_meta_graph, matches_message

BINARY, TEXT, SPLIT = "saved_model.pb", "saved_model.pbtxt", "saved_model.cpb"
FIELDS: Layout = {1: VARINT, 2: LENGTH}
FIELD_NAMES = (b"saved_model_schema_version", b"meta_graphs")
RIEGELI = b"\x83\xafp\xd1\r\x88J?"
"""The first bytes of a split SavedModel."""
PASS_FOLDER = "pass the SavedModel folder that contains it"


def is_saved_model(sample: Sample) -> bool:
    """Whether there is a schema version, which TensorFlow always writes, or else a MetaGraph with a graph."""
    parts = sample.message.parts()
    if not sample.message.fits(FIELDS):
        return False
    if 2 not in parts:
        return 1 in parts
    inner = structure_of(parts[2])
    meta = inner.parts()
    return inner.fits(META_GRAPH_FIELDS) and (1 in parts or (2 in meta and has_meta_graph(meta)))


def locate(files: Files, name: str) -> ModelLocation:
    """The folder that contains the message file."""
    is_folder = posixpath.splitext(name)[0] == "saved_model"
    where = files.where if name in (BINARY, TEXT) and files.where else files.label(name)
    return ModelLocation(SAVED_MODEL, files, name, where, is_folder)


def message_file(names: list[str]) -> list[list[str]]:
    return [[name] for name in (BINARY, TEXT, SPLIT) if name in names][:1]


def versions(folders: list[str]) -> list[str]:
    """Numbered folders as TensorFlow Serving has them, the highest number first."""
    numbered = [f for f in folders if f.isascii() and f.isdigit() and len(f) < 20]
    return sorted(numbered, key=int, reverse=True)


def is_keras_metadata(sample: Sample) -> bool:
    """Whether this is a list of objects whose fourth field is the name of their Keras class."""
    message = sample.message
    if {f.number for f in message.fields} != {1}:
        return False
    class_name = structure_of(message.parts()[1]).parts().get(4, b"")
    return bytes(class_name[:9]) == b"_tf_keras"


def is_fingerprint(sample: Sample) -> bool:
    """Whether this has five checksums; a decision forest's header has a message as its fourth field."""
    wires = sample.message.wire_types()
    checksums = [wires.get(number, VARINT) for number in (4, 5)]
    return not sample.is_damaged and {wires.get(1), wires.get(2), wires.get(3), *checksums} == {VARINT}


SAVED_MODEL = ModelFormat(
    "SavedModel",
    lambda sample: matches_message(sample, FIELD_NAMES, is_saved_model),
    key="saved_model",
    locate=locate,
    bytes_name=BINARY,
    folder_rank=1,
    candidates=message_file,
    subfolders=versions,
)
SPLIT_SAVED_MODEL = OtherFile(
    "a SavedModel in the split format of TensorFlow 2.16 and later, which tfport cannot read yet",
    lambda sample: sample.name == SPLIT or sample.head.startswith(RIEGELI),
    instead="save it again without `experimental_image_format`",
)
KERAS_METADATA = OtherFile("the Keras metadata of a SavedModel", is_keras_metadata, instead=PASS_FOLDER)
FINGERPRINT = OtherFile("the fingerprint of a SavedModel", is_fingerprint, instead=PASS_FOLDER)
