"""The loaders of Keras 2: HDF5 files, and since 2.12 `.keras` archives."""

from __future__ import annotations

from tfport.atlas.keras_releases import KerasRelease
from tfport.check.findings.keras_files import KerasFileFormat
from tfport.check.keras.keras2_archive import Keras2Archive
from tfport.check.keras.keras2_layers import Keras2Layers
from tfport.check.keras.raised import VALUE_ERROR, Raised
from tfport.check.keras.stored_objects import copied, decoded
from tfport.formats.keras.records import KerasFile


def load_with_keras_2(file: KerasFile, release: KerasRelease) -> list[Raised]:
    """The errors of `load_model(path, compile=False)`."""
    layers = Keras2Layers(release)
    if file.layout == "weights" or file.config is None:
        text = (
            "No model found in config file."
            if not layers.since("2.7")
            else (f"No model config found in the file at {file.where}.")
        )
        return [Raised(VALUE_ERROR, text, KerasFileFormat(what="weights without an architecture"))]
    if file.layout == "keras":
        if not layers.since("2.12"):
            return [_no_archives(file, layers)]
        return Keras2Archive(release).model({**copied(file.config), "compile_config": None})
    if layers.since("2.13"):
        return Keras2Archive(release).deserialize(decoded(file.config))
    return layers.deserialize(decoded(file.config))


def _no_archives(file: KerasFile, layers: Keras2Layers) -> Raised:
    """The error for an archive in a release that does not know them: it is read as another format."""
    text = "Unable to open file (file signature not found)"
    if layers.since("1.14") and not layers.since("2.8"):  # both look at the content; the others at the name
        text = f"SavedModel file does not exist at: {file.where}/{{saved_model.pbtxt|saved_model.pb}}"
    return Raised("OSError", text, KerasFileFormat(what="a `.keras` archive, which came with Keras 2.12"))
