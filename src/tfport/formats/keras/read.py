"""Read a Keras file of any layout; its content decides, not its name.

`read_keras(files, name)` returns a `KerasFile`: the configuration as it is stored, and the weights to
read on request. Nothing is executed, imported or unpickled, and no link is followed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from tfport.errors import UnreadableFile
from tfport.formats.files import Files
from tfport.formats.format import Sample
from tfport.formats.hdf5.file import SIGNATURE, open_hdf5
from tfport.formats.keras.archive import CONFIG, read_archive, read_weights_list
from tfport.formats.keras.h5_file import has_weights, is_whole_model, read_h5
from tfport.formats.keras.records import Json, KerasFile
from tfport.formats.keras.signature import ZIP, is_archive, is_list_of_weights, is_yaml_architecture
from tfport.formats.keras.stored_json import json_object, stored_model, text_of
from tfport.formats.keras.unsafe import unsafe_config
from tfport.formats.tfjs.signature import is_layers_model

SUFFIXES = (".h5", ".hdf5", "_weights.h5", "_weights.hdf5", ".weights.h5", "-weights.h5")
"""What follows the name of the architecture in the name of its weights."""
ALWAYS = ("weights.h5", "weights.hdf5")


def read_keras(files: Files, name: str) -> KerasFile:
    """The Keras model, architecture or weights in a file."""
    data = files.map(name)
    label = files.label(name)
    if bytes(data[:8]) == SIGNATURE:
        return read_h5(open_hdf5(data, label))
    if bytes(data[:4]) == ZIP:
        from tfport.formats.archive.zip import zip_files

        return read_archive(zip_files(data, label))
    sample = Sample(files, name)
    if posixpath.basename(name) == CONFIG and is_archive(sample):
        return read_archive(files.under(posixpath.dirname(name)))
    if is_list_of_weights(sample):
        return read_weights_list(files, name)
    if is_layers_model(sample):
        from tfport.formats.keras.layers_model import (
            read_layers_model,  # imported here, as few models need it
        )

        return read_layers_model(files, name)
    return read_architecture(files, name)


def read_architecture(files: Files, name: str) -> KerasFile:
    """What `model.to_json()` or `to_yaml()` wrote, with weights if just one file beside it can have them."""
    label = files.label(name)
    config = stored_model(_architecture(files, name), label)
    file = KerasFile(
        where=label,
        layout="json",
        config=config,
        weights=None,
        keras_version=text_of(config.get("keras_version")),
        backend=text_of(config.get("backend")),
        unsafe=unsafe_config(config),
    )
    _add_weights(file, files, name)
    return file


def _architecture(files: Files, name: str) -> Mapping[str, Json]:
    if not is_yaml_architecture(Sample(files, name)):
        return json_object(files.map(name), files.label(name))
    from tfport.formats.keras.yaml_text import yaml_object  # imported here, as few models need it

    return yaml_object(files.map(name), files.label(name))


def _add_weights(file: KerasFile, files: Files, name: str) -> None:
    folder, base = posixpath.split(name)
    stem = posixpath.splitext(base)[0]
    names = dict.fromkeys([*(stem + suffix for suffix in SUFFIXES), *ALWAYS])
    candidates = [path for path in (posixpath.join(folder, n) for n in names) if _has_weights(files, path)]
    shown = [posixpath.basename(path) for path in candidates]
    if not candidates:
        file.notes.append(f"no weights: put them next to the architecture, as {stem}.h5 or {stem}.weights.h5")
    elif len(candidates) > 1:
        file.notes.append(
            f"no weights: each of {', '.join(shown)} could be those of {base}; "
            "keep only one of them next to it"
        )
    else:
        weights = read_h5(open_hdf5(files.map(candidates[0]), files.label(candidates[0])))
        file.weights = weights.weights
        file.unsafe += [content for content in weights.unsafe if content not in file.unsafe]
        file.keras_version = file.keras_version or weights.keras_version
        file.backend = file.backend or weights.backend
        file.notes.append(f"the weights are those of {shown[0]}, next to {base}")


def _has_weights(files: Files, path: str) -> bool:
    if not files.has(path):
        return False
    data = files.map(path)
    if bytes(data[: len(SIGNATURE)]) != SIGNATURE:
        return False
    try:
        root = open_hdf5(data, files.label(path))
        return is_whole_model(root) or has_weights(root)
    except UnreadableFile:
        return True  # damaged weights are not silently left out
