"""What recognition compares: the rows of its table, `ModelFormat` and `OtherFile`, with a `Sample` of a file.

Each model format defines its rows in its own `signature.py`; files that have nothing to do with
TensorFlow are in `other_files`. The table is `recognize.FORMATS`. Every signature gets the `Sample`: it
reads the first bytes and the tags of the first fields only, so that a file of any size costs the same, and
decodes nothing until a signature asks for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Literal

from tfport.errors import NotAModel, UnreadableFile
from tfport.formats.encoding.message import is_text
from tfport.formats.encoding.wire import LENGTH, MessageStructure, structure_of
from tfport.formats.files import Files, Folder
from tfport.startup.dataclass import dataclass

CONVERTED_FROM = (
    "use the SavedModel, GraphDef, checkpoint, Keras or TensorFlow.js model it was converted from"
)


def no_names(_: list[str]) -> list[list[str]]:
    return []


def no_folders(_: list[str]) -> list[str]:
    return []


@dataclass(frozen=True, eq=False, slots=True)
class Format:
    """What a file can be."""

    name: str
    """As in messages: `SavedModel`; for an `OtherFile` with its article, `an ONNX model`."""
    matches: Callable[[Sample], bool] | None = None
    """Whether a file is of this format; None for a row that only folders and archives can match."""


@dataclass(frozen=True, eq=False, slots=True)
class ModelFormat(Format):
    """A format that tfport reads."""

    key: str = ""
    """The name in JSON: `saved_model`."""
    locate: Callable[[Files, str], ModelLocation | str] | None = None
    """The model that a file belongs to, or the name of another file to look at; None for the file itself."""
    bytes_name: str | None = None
    """The file name for a model passed as bytes; None if the format has more than one file."""
    folder_rank: int = 0
    """In a folder, formats with a lower rank are looked for first: those with the more specific names."""
    candidates: Callable[[list[str]], list[list[str]]] = no_names
    """The files of a folder that may be such a model, in groups; the first group with a model counts."""
    accepts: tuple[str, ...] = ()
    """Keys of the formats that candidates may have; empty if the file name alone decides."""
    subfolders: Callable[[list[str]], list[str]] = no_folders
    """The folders that may contain such a model, the preferred first."""


@dataclass(frozen=True, eq=False, slots=True)
class OtherFile(Format):
    """A file that is not a model, or not one that tfport reads."""

    instead: str = CONVERTED_FROM
    """What the user can do."""
    broken: bool = False
    """Whether this should have been a model: the remains of a failed download or checkout."""
    in_archive: str = ""
    """A pattern for names that only archives of this kind contain."""
    in_folder: str = ""
    """A pattern for names that only folders of this kind contain."""

    def error(self, where: str) -> UnreadableFile:
        return (UnreadableFile if self.broken else NotAModel)(f"{where}: {self.name}; {self.instead}")


@dataclass(frozen=True, slots=True)
class ModelLocation:
    """A model that recognition found: its format, and the file to start reading with."""

    format: ModelFormat
    files: Files
    name: str
    """A file of `files`; for a checkpoint its prefix."""
    where: str
    """The model as messages call it."""
    is_folder: bool = False
    """Whether everything in the folder belongs to this model."""


def with_suffix(names: Iterable[str], suffix: str) -> list[str]:
    return [name for name in names if name.endswith(suffix)]


# The file that recognition looks at.

HEAD = 4096
FIRST_FIELDS = 64
MOST_JSON = 64 * 2**20
JSON_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*[{\[]\s*["{}\[\]]')
FIRST_FIELD = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|#[^\n]*\n)*(\w+)\s*[:{<]")


class Sample:
    """A file to recognize, by its name and its bytes."""

    def __init__(self, files: Files, name: str) -> None:
        self.files, self.name = files, name

    @property
    def label(self) -> str:
        """The file as messages call it."""
        return self.files.label(self.name)

    @cached_property
    def data(self) -> memoryview:
        if not self.files.has(self.name):
            raise UnreadableFile(f"{self.label}: {self._why_missing()}")
        return self.files.map(self.name)

    @cached_property
    def head(self) -> bytes:
        """The first bytes."""
        return bytes(self.data[:HEAD])

    @cached_property
    def encoding(self) -> Literal["json", "text", "binary"]:
        """JSON, protobuf text format, or anything else."""
        if JSON_START.match(self.head):
            return "json"
        return "text" if is_text(self.data) else "binary"

    @cached_property
    def json(self) -> memoryview:
        """The part of a JSON file that is searched; empty for any other file."""
        return self.data[:MOST_JSON] if self.encoding == "json" else memoryview(b"")

    @cached_property
    def text_field(self) -> bytes:
        """The name of the first field of a message in text format; empty for any other file."""
        first = FIRST_FIELD.match(self.head) if self.encoding == "text" else None
        return first[1] if first else b""

    @cached_property
    def message(self) -> MessageStructure:
        """The structure of a binary message; no fields for any other file."""
        if self.encoding != "binary":
            return MessageStructure(b"", [])
        return structure_of(self.data, FIRST_FIELDS)

    @property
    def is_damaged(self) -> bool:
        """Whether the binary message has a fault."""
        return self.message.fault is not None

    def has_content(self) -> bool:
        """Whether any field of the message has a value to look into."""
        return any(f.wire == LENGTH for f in self.message.fields)

    def check_complete(self) -> None:
        """Raise an error if the message was cut short."""
        fault = self.message.fault
        if fault and fault.cut:
            raise UnreadableFile(
                f"{self.label}, byte {fault.at}: the file {fault.why}; the download or copy was cut short"
            )

    def _why_missing(self) -> str:
        path = os.path.join(self.files.where, self.name)
        if not isinstance(self.files, Folder) or not os.path.islink(path):
            return "not a plain file"
        target = os.readlink(path)
        fetch = "; fetch it with `git annex get`" if "annex/objects" in target else ""
        return f"a link to {target}, which does not exist{fetch}"
