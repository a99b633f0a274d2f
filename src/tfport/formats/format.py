"""The rows of the table that recognition walks: `ModelFormat`, which tfport reads, and `OtherFile`.

Each model format defines its rows in its own `signature.py`; files that have nothing to do with
TensorFlow are in `other_files`. The table is `recognize.FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tfport.errors import NotAModel, UnreadableFile
from tfport.formats.files import Files
from tfport.formats.sample import Sample
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
