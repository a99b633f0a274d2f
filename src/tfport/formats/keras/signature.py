"""How Keras files are recognized: by what an HDF5 file, a zip file or a JSON file contains.

TensorFlow.js layers models are Keras models too.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from tfport.formats.files import Files
from tfport.formats.format import ModelFormat, ModelLocation, OtherFile, Sample, with_suffix
from tfport.formats.tfjs.signature import MODEL, is_layers_model

if TYPE_CHECKING:
    from tfport.formats.hdf5.file import Hdf5Group

HDF5 = b"\x89HDF\r\n\x1a\n"
ZIP, ZIP_END = b"PK\x03\x04", b"PK\x05\x06"
CONFIG = "config.json"
METADATA = "metadata.json"
WEIGHTS = ("model.weights.h5", "model.weights.json", "model.weights.npz")
CLASS = re.compile(rb'\\?"class_name\\?"\s*:')
QUOTED = re.compile(rb'\s*"\{\s*\\"')
"""The start of JSON inside a JSON string: `json.dump(model.to_json(), file)` writes it."""
YAML = re.compile(rb"(?:backend: \w+\r?\n)?class_name: \w+\r?\nconfig:")
WEIGHT_MAP = re.compile(rb'"weight_map"\s*:\s*\{\s*"[^"]*"\s*:\s*\[?\s*"[^"]*\.weights\.h5"')
MEMBERS = re.compile(rb"PK\x01\x02.{42}(config\.json|metadata\.json|model\.weights\.(?:h5|json|npz))", re.S)
"""The names of a `.keras` file in the directory of a zip file."""
LARGEST_TAIL = 1 << 20
EXTENSIONS = (".h5", ".hdf5", ".hdf", ".keras")
KEYS = ("keras_h5", "keras_archive")


def _root(sample: Sample) -> Hdf5Group | None:
    if not sample.head.startswith(HDF5):
        return None
    from tfport.formats.hdf5.file import open_hdf5  # imported here, as it needs NumPy

    return open_hdf5(sample.data, sample.label)


def is_model_in_hdf5(sample: Sample) -> bool:
    root = _root(sample)
    return root is not None and "model_config" in root.attributes


def is_list_of_weights(sample: Sample) -> bool:
    """Whether this is the JSON file that lists weights in several HDF5 files."""
    return sample.encoding == "json" and WEIGHT_MAP.search(sample.head) is not None


def is_weights(sample: Sample) -> bool:
    if is_list_of_weights(sample):
        return True
    root = _root(sample)
    if root is None:
        return False
    from tfport.formats.keras.h5_file import has_weights

    return has_weights(root)


def is_archive(sample: Sample) -> bool:
    """Whether this is a zip file with the members of a `.keras` file, or one of the members."""
    if posixpath.basename(sample.name) == CONFIG:
        folder = posixpath.dirname(sample.name)
        certain = any(sample.files.has(posixpath.join(folder, name)) for name in WEIGHTS)
        return certain or (sample.files.has(posixpath.join(folder, METADATA)) and is_architecture(sample))
    if not sample.head.startswith(ZIP):
        return False
    tail = bytes(sample.data[-LARGEST_TAIL:])
    names = {bytes(name) for name in MEMBERS.findall(tail)}
    return CONFIG.encode() in names and len(names) > 1


def is_cut_archive(sample: Sample) -> bool:
    """Whether this is the first part of a `.keras` file: the directory is at the end of a zip file."""
    is_part = sample.head.startswith(ZIP) and sample.name.endswith(".keras")
    return is_part and ZIP_END not in bytes(sample.data[-LARGEST_TAIL:])


def is_architecture(sample: Sample) -> bool:
    is_json = sample.encoding == "json" or QUOTED.match(sample.head) is not None
    return (is_json and CLASS.search(sample.head) is not None) or is_yaml_architecture(sample)


def is_yaml_architecture(sample: Sample) -> bool:
    """Whether this is what `model.to_yaml()` wrote."""
    return YAML.match(sample.head) is not None


def locate_archive(files: Files, name: str) -> ModelLocation:
    """The files inside a `.keras` file, or the folder of an unpacked one."""
    if bytes(files.map(name)[:4]) != ZIP:
        folder = files.under(posixpath.dirname(name))
        return ModelLocation(KERAS_ARCHIVE, folder, CONFIG, folder.where or files.label(name), is_folder=True)
    from tfport.formats.archive.zip import zip_files

    inside = zip_files(files.map(name), files.label(name))
    return ModelLocation(KERAS_ARCHIVE, inside, CONFIG, files.label(name))


def models(names: list[str]) -> list[list[str]]:
    return [[name for name in names if name.endswith(EXTENSIONS)]]


def weights(names: list[str]) -> list[list[str]]:
    return [with_suffix(names, ".weights.json"), *models(names)]


def unpacked(names: list[str]) -> list[list[str]]:
    return [[CONFIG]] if CONFIG in names and not {METADATA, *WEIGHTS}.isdisjoint(names) else []


def layers_models(names: list[str]) -> list[list[str]]:
    return [[MODEL]] if MODEL in names else [with_suffix(names, ".json")]


KERAS_H5 = ModelFormat(
    "Keras HDF5 model",
    is_model_in_hdf5,
    key="keras_h5",
    bytes_name="model.h5",
    folder_rank=9,
    candidates=models,
    accepts=KEYS,
)
KERAS_ARCHIVE = ModelFormat(
    "Keras archive",
    is_archive,
    key="keras_archive",
    locate=locate_archive,
    bytes_name="model.keras",
    folder_rank=2,
    candidates=unpacked,
    accepts=("keras_archive",),
)
KERAS_JSON = ModelFormat(
    "Keras architecture",
    is_architecture,
    key="keras_json",
    bytes_name="model.json",
    folder_rank=10,
    candidates=lambda names: [with_suffix(names, ".json")],
    accepts=("keras_json",),
)
KERAS_WEIGHTS = ModelFormat(
    "Keras weights",
    is_weights,
    key="keras_weights",
    bytes_name="model.weights.h5",
    folder_rank=11,
    candidates=weights,
    accepts=("keras_weights",),
)
TFJS_LAYERS = ModelFormat(
    "TensorFlow.js layers model",
    is_layers_model,
    key="tfjs_layers",
    folder_rank=4,
    candidates=layers_models,
    accepts=("tfjs_layers",),
)
OTHER_HDF5 = OtherFile(
    "an HDF5 file without a Keras model or weights",
    lambda sample: sample.head.startswith(HDF5),
    instead="use the file that `model.save` or `model.save_weights` wrote",
)
CUT_ARCHIVE = OtherFile(
    "a Keras archive whose end is missing",
    is_cut_archive,
    instead="the download or copy was cut short; download or copy it again",
    broken=True,
)
