"""What `load_model` of a Keras release does with a file: the right simulated loader for both."""

from __future__ import annotations

from tfport.atlas.keras_releases import KERAS, KERAS_CORE, KerasRelease
from tfport.atlas.versions import version_key
from tfport.check.keras.keras2 import load_with_keras_2
from tfport.check.keras.keras3 import load_with_keras_3
from tfport.check.keras.raised import Raised
from tfport.formats.keras.records import KerasFile


def simulated_load(file: KerasFile, release: KerasRelease) -> list[Raised]:
    """The errors of `load_model(path, compile=False)`: first the one it raises, then further ones."""
    if is_keras_3(release):
        return load_with_keras_3(file, release)
    return load_with_keras_2(file, release)


def is_keras_3(release: KerasRelease) -> bool:
    """Whether a release is Keras 3, or its predecessor keras-core."""
    if release.package == KERAS_CORE:
        return True
    return release.package == KERAS and version_key(release.version) >= version_key("3")
