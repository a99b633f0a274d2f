"""The loaders of Keras 1 and 2: HDF5 files, and since 2.12 `.keras` archives."""

from __future__ import annotations

from tfport.atlas.keras_releases import KerasRelease
from tfport.check.findings.keras_files import KerasFileFormat
from tfport.check.keras.keras1_layers import Keras1Layers
from tfport.check.keras.keras2_archive import Keras2Archive
from tfport.check.keras.keras2_layers import Keras2Layers
from tfport.check.keras.raised import VALUE_ERROR, Raised
from tfport.check.keras.stored_objects import copied, decoded
from tfport.formats.keras.records import KerasFile

GFILE = "tensorflow.python.platform.gfile.GFile"
FIRST_LOAD_MODEL = "1.0.7"
"""The first keras with `load_model`."""


def load_with_keras_1(file: KerasFile, release: KerasRelease) -> list[Raised]:
    """The errors of `load_model(path)`."""
    layers = Keras1Layers(release)
    if not layers.since("9", FIRST_LOAD_MODEL):
        what = f"a model with its architecture: `load_model` came with keras {FIRST_LOAD_MODEL}"
        return [Raised("ImportError", "cannot import name 'load_model'", KerasFileFormat(what=what))]
    if file.layout == "weights" or file.config is None:
        return [_no_model("No model found in config file.")]
    if file.layout == "keras":
        return [_no_archives(file, layers)]
    return layers.deserialize(copied(file.config))


def load_with_keras_2(file: KerasFile, release: KerasRelease) -> list[Raised]:
    """The errors of `load_model(path, compile=False)`."""
    layers = Keras2Layers(release)
    if file.layout == "weights" or file.config is None:
        text = "No model found in config file."
        if layers.is_standalone and layers.since("9", "2.2.3"):  # it takes what is absent for a new group
            text = (
                f"Cannot create group in {'read-only' if layers.since('9', '2.2.5') else 'read only'} mode."
            )
        elif layers.since("2.7"):
            shown = f"<{GFILE} object at 0x…>" if layers.since("2.8") else file.where
            text = f"No model config found in the file at {shown}."
        return [_no_model(text)]
    if file.layout == "keras":
        if not layers.since("2.12"):
            return [_no_archives(file, layers)]
        return Keras2Archive(release).model({**copied(file.config), "compile_config": None})
    if layers.since("2.13"):
        return Keras2Archive(release).deserialize(decoded(file.config))
    return layers.deserialize(decoded(file.config))


def _no_model(text: str) -> Raised:
    return Raised(VALUE_ERROR, text, KerasFileFormat(what="weights without an architecture"))


def _no_archives(file: KerasFile, layers: Keras2Layers) -> Raised:
    """The error for an archive in a release that does not know them: it is read as another format."""
    text = "Unable to open file (file signature not found)"
    if layers.since("1.14") and not layers.since("2.8"):  # both look at the content; the others at the name
        text = f"SavedModel file does not exist at: {file.where}/{{saved_model.pbtxt|saved_model.pb}}"
    return Raised("OSError", text, KerasFileFormat(what="a `.keras` archive, which came with Keras 2.12"))
