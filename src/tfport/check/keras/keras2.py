"""The loaders of Keras 2: HDF5 files, and since 2.12 `.keras` archives."""

from __future__ import annotations

from tfport.atlas.keras_releases import KerasRelease
from tfport.check.findings.keras_files import KerasFileFormat
from tfport.check.keras.keras2_layers import Keras2Layers
from tfport.check.keras.raised import VALUE_ERROR, Raised
from tfport.check.keras.stored_objects import decoded
from tfport.formats.keras.records import KerasFile


def load_with_keras_2(file: KerasFile, release: KerasRelease) -> list[Raised]:
    """The errors of `load_model(path, compile=False)`."""
    layers = Keras2Layers(release)
    if file.layout == "weights" or file.config is None:
        text = "No model found in config file." if not layers.since("2.7") else (
            f"No model config found in the file at {file.where}."
        )
        return [Raised(VALUE_ERROR, text, KerasFileFormat(what="weights without an architecture"))]
    return layers.deserialize(decoded(file.config))
