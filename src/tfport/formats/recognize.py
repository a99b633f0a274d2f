"""Recognize the format of a file, and the model in a folder, by one walk over the table of formats.

`recognize(sample)` returns the first row of `FORMATS` that matches a file. `locate` returns the model
that a file belongs to, `models_in` the models of a folder. To add a format, add its row to `FORMATS`.
Paths, archives and bytes are turned into files by `find`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfport.errors import Error, UnreadableFile
from tfport.formats import other_files
from tfport.formats.checkpoint import signature as checkpoint
from tfport.formats.files import Files
from tfport.formats.format import Format, ModelFormat, ModelLocation, OtherFile, Sample
from tfport.formats.graph_def import signature as graph_def
from tfport.formats.keras import signature as keras
from tfport.formats.lite import signature as lite
from tfport.formats.saved_model import signature as saved_model
from tfport.formats.tfjs import signature as tfjs

FORMATS: tuple[Format, ...] = (
    # by their names, or by bytes that no other file has
    tfjs.WEIGHTS_SHARD,
    checkpoint.CHECKPOINT_DATA,
    checkpoint.CHECKPOINT,
    saved_model.SPLIT_SAVED_MODEL,
    keras.KERAS_ARCHIVE,
    keras.KERAS_H5,
    keras.KERAS_WEIGHTS,
    keras.OTHER_HDF5,
    lite.LITE,
    keras.CUT_ARCHIVE,
    *other_files.BY_FIRST_BYTES,
    *other_files.RECORD_FILES,
    # by the fields of JSON
    keras.TFJS_LAYERS,
    tfjs.TFJS,
    tfjs.WEIGHTS_MANIFEST,
    keras.KERAS_JSON,
    *other_files.JSON_FILES,
    # by the fields of a protobuf message, which has no magic number
    other_files.ONNX,
    saved_model.KERAS_METADATA,
    saved_model.SAVED_MODEL,
    graph_def.GRAPH_DEF,
    graph_def.META_GRAPH,
    checkpoint.CHECKPOINT_STATE,
    *other_files.OTHER_MESSAGES,
    saved_model.FINGERPRINT,
    *other_files.ANYTHING_ELSE,
)
"""What a file can be. The first row that matches counts; the last one matches everything."""

_MODELS = [row for row in FORMATS if isinstance(row, ModelFormat)]
_OTHERS = [row for row in FORMATS if isinstance(row, OtherFile)]
_IN_FOLDERS = sorted((row for row in _MODELS if row.folder_rank), key=lambda row: row.folder_rank)
_WEIGHTS_ALONE = (checkpoint.CHECKPOINT, checkpoint.CHECKPOINT_STATE, keras.KERAS_WEIGHTS)
_SINGLE_FILES = (graph_def.GRAPH_DEF, keras.KERAS_H5, keras.KERAS_ARCHIVE, lite.LITE)
_WITH_GRAPHS = [row for row in _IN_FOLDERS if row not in _WEIGHTS_ALONE]
MOST_FILES = 500
"""At most this many files of a folder are opened to recognize them."""
MOST_FOLDERS = 2000


def recognize(sample: Sample) -> Format:
    """The format of a file; an error if it is a model that was cut short."""
    return next(row for row in FORMATS if row.matches and row.matches(sample))


def locate(files: Files, name: str) -> ModelLocation:
    """The model that a file is, or is a part of."""
    sample = Sample(files, name)
    return _location(recognize(sample), sample)


def _location(row: Format, sample: Sample, *, is_redirected: bool = False) -> ModelLocation:
    if not isinstance(row, ModelFormat):
        assert isinstance(row, OtherFile)
        raise row.error(sample.label)
    if row.locate is None:
        return ModelLocation(row, sample.files, sample.name, sample.label)
    location = row.locate(sample.files, sample.name)
    if isinstance(location, ModelLocation):
        return location
    if is_redirected:
        raise UnreadableFile(f"{sample.label}: a {row.name} that refers to another one")
    target = Sample(sample.files, location)
    return _location(recognize(target), target, is_redirected=True)


def models_in(files: Files) -> list[ModelLocation]:
    """The models directly in the top folder, of the first format that has any there."""
    names, folders = files.list()
    models = (_models_of(row, files, names, folders) for row in _IN_FOLDERS)
    return next(filter(None, models), [])


def folder_models(files: Files) -> tuple[list[ModelLocation], list[Error]]:
    """The models directly in a folder, and the errors of damaged files beside them.

    A SavedModel, a checkpoint or a TF.js model has the whole folder. Models that are single files may be of
    several formats.
    """
    errors: list[Error] = []
    try:
        models = models_in(files)
    except Error as error:
        models, errors = [], [error]
    if any(model.format not in _SINGLE_FILES for model in models) or not (models or errors):
        return models, errors
    every = list(every_model_in(files))
    known = {model.format for model in models}  # whose groups of names have an order: .pb before .pbtxt
    readable = [model for model in every if not isinstance(model, tuple)]
    models += [m for m in readable if m.format in _SINGLE_FILES and m.format not in known]
    if not models:
        raise errors[0]
    return models, [damaged[1] for damaged in every if isinstance(damaged, tuple)]


def _models_of(row: ModelFormat, files: Files, names: list[str], folders: list[str]) -> list[ModelLocation]:
    for group in row.candidates(names):
        samples = [Sample(files, name) for name in group[:MOST_FILES]]
        if row.accepts:
            samples = [sample for sample in samples if files.has(sample.name)]
        rows = [(recognize(sample), sample) for sample in samples]
        if models := [_location(r, s) for r, s in rows if not row.accepts or _key(r) in row.accepts]:
            return models
    for folder in row.subfolders(folders):
        inner = files.under(folder)
        if models := _models_of(row, inner, inner.list()[0], []):
            return models
    return []


def may_have_models(names: list[str]) -> bool:
    """Whether a folder with these files may have a model in it; `every_model_in` looks at their content."""
    return bool(_candidates(names))


def every_model_in(files: Files) -> Iterator[ModelLocation | tuple[str, Error]]:
    """The models directly in the top folder, of all formats; for a broken one its path and the error.

    Weights alone are no models. Of a SavedModel, the other files of its folder are parts.
    """
    names, _ = files.list()
    seen: set[str] = set()
    for name, rows in _candidates(names).items():
        sample = Sample(files, name)
        by_name = any(not row.accepts for row in rows)
        try:
            row = recognize(sample)
            if isinstance(row, OtherFile) and row.broken:
                yield sample.label, row.error(sample.label)
            elif by_name or any(_key(row) in candidate.accepts for candidate in rows):
                model = _location(row, sample)
                if model.where not in seen:
                    seen.add(model.where)
                    yield model
                by_name = model.is_folder
        except Error as error:
            yield sample.label, error
        if by_name:  # also of a broken one, the other files are parts
            return


def _candidates(names: list[str]) -> dict[str, list[ModelFormat]]:
    """The files that may be models, with the formats that they may have; the most specific names first."""
    rows: dict[str, list[ModelFormat]] = {}
    for row in _WITH_GRAPHS:
        for group in row.candidates(names):
            for name in group:
                rows.setdefault(name, []).append(row)
    return rows


def _key(row: Format) -> str:
    return row.key if isinstance(row, ModelFormat) else ""


def models_below(files: Files, levels: int) -> tuple[list[ModelLocation], list[Error]]:
    """All models in a tree down to a number of levels, and the errors of folders that cannot be read."""
    models: list[ModelLocation] = []
    errors: list[Error] = []
    folders = [(files, levels)]
    for folder, left in folders:  # grows during the loop
        try:
            here = models_in(folder)
            models += here
            inside = [] if any(model.is_folder for model in here) or left == 0 else folder.list()[1]
        except Error as error:
            errors.append(error)
            inside = []
        allowed = max(0, MOST_FOLDERS - len(folders))
        folders += [(folder.under(f), left - 1) for f in inside[:allowed] if not f.startswith(".")]
    return models, errors


def other_folder(names: list[str]) -> OtherFile | None:
    """The row of another framework that a folder with these files belongs to, if any."""
    return next((row for row in _OTHERS if _any_match(row.in_folder, names)), None)


def other_archive(names: list[str]) -> OtherFile | None:
    """The row of another framework that an archive with these members belongs to, if any."""
    return next((row for row in _OTHERS if _any_match(row.in_archive, names)), None)


def _any_match(pattern: str, names: list[str]) -> bool:
    return bool(pattern) and any(re.fullmatch(pattern, name) for name in names)
