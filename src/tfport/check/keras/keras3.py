"""The loader of Keras 3: `.keras` archives, and HDF5 files of any version."""

from __future__ import annotations

import posixpath

from tfport.atlas.keras_releases import KERAS_CORE, KerasRelease
from tfport.check.findings.keras_files import KerasFileFormat
from tfport.check.keras.keras3_layers import Keras3Layers
from tfport.check.keras.raised import VALUE_ERROR, Raised
from tfport.check.keras.stored_objects import copied, decoded
from tfport.formats.keras.records import Json, KerasFile

H5_ENDINGS = (".h5", ".hdf5")


def load_with_keras_3(file: KerasFile, release: KerasRelease) -> list[Raised]:
    """The errors of `load_model(path, compile=False)`."""
    layers = Keras3Layers(release)
    if file.layout == "keras":
        return layers.deserialize({**copied(file.config), "compile_config": None})
    if file.layout == "json":
        return layers.deserialize(copied(file.config))
    if refusal := _refused(file, layers):
        return [refusal]
    config = decoded(file.config)
    layers.reads_hdf5 = True
    return layers.legacy(_renamed(config) if release.package == KERAS_CORE else config)


def _renamed(value: Json) -> Json:
    """The configuration with the modules of Keras as those of keras-core, whose loader renames them."""
    if isinstance(value, str):
        return value.replace("keras.", "keras_core.")
    if isinstance(value, list | tuple):
        return type(value)(map(_renamed, value))
    return {key: _renamed(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def _refused(file: KerasFile, layers: Keras3Layers) -> Raised | None:
    """The error for a file that the loader does not read at all."""
    name = posixpath.basename(file.where)
    if file.layout == "weights" or file.config is None:
        text = f"No model config found in the file at {file.where}."
        return Raised(VALUE_ERROR, text, KerasFileFormat(what="weights without an architecture"))
    if file.layout != "h5" or name.endswith(H5_ENDINGS):
        return None
    if name.endswith(".keras"):
        text = (
            f"File not found: filepath={file.where}. Please ensure the file is an accessible `.keras` zip "
            "file."
        )
        return Raised(
            VALUE_ERROR, text, KerasFileFormat(what="an HDF5 file under a name that ends in .keras")
        )
    and_also = ", legacy" if layers.since("3.14") else " and legacy"
    text = (
        f"File format not supported: filepath={file.where}. Keras 3 only supports V3 `.keras` "
        f"files{and_also} H5 "
        "format files (`.h5` extension). Note that the legacy SavedModel format is not supported by "
        "`load_model()` in Keras 3. In order to reload a TensorFlow SavedModel as an inference-only layer in "
        f"Keras 3, use `keras.layers.TFSMLayer({file.where}, call_endpoint='serving_default')` (note "
        "that your "
        "`call_endpoint` might have a different name)."
    )
    return Raised(VALUE_ERROR, text, KerasFileFormat(what="an HDF5 file under a name without .h5"))
