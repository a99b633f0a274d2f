"""The generations of Keras: standalone Keras 1 and 2, the Keras of TensorFlow, and Keras 3."""

from __future__ import annotations

from tfport.atlas.keras_releases import KERAS, KERAS_CORE, TENSORFLOW, KerasRelease
from tfport.atlas.versions import version_key

LAST_STANDALONE = "2.5"
FIRST_H5PY_3 = "2.5"
"""The first TensorFlow whose Keras reads text attributes of h5py 3."""


def is_keras_3(release: KerasRelease) -> bool:
    """Whether a release is Keras 3, or its predecessor keras-core."""
    if release.package == KERAS_CORE:
        return True
    return release.package == KERAS and version_key(release.version) >= version_key("3")


def is_keras_1(release: KerasRelease) -> bool:
    """Whether a release is Keras 1 or older."""
    return release.package == KERAS and version_key(release.version) < version_key("2")


def since_keras_3(release: KerasRelease, version: str) -> bool:
    """Whether a release of Keras 3 is this version or later; keras-core counts as the first."""
    return release.package == KERAS and version_key(release.version) >= version_key(version)


def is_standalone(release: KerasRelease) -> bool:
    """Whether a release is Keras for several backends, before it became a part of TensorFlow."""
    return release.package == KERAS and version_key(release.version) < version_key(LAST_STANDALONE)


def needs_h5py_2(release: KerasRelease) -> bool:
    """Whether a release fails with h5py 3: `'str' object has no attribute 'decode'`."""
    inside = release.package == TENSORFLOW and version_key(release.version) < version_key(FIRST_H5PY_3)
    return inside or is_standalone(release)


def unsupported_format(path: str, release: KerasRelease | None) -> str:
    """What Keras 3 says about a file that is neither an archive nor named as HDF5."""
    and_also = ", legacy" if release is None or since_keras_3(release, "3.14") else " and legacy"
    return (
        f"File format not supported: filepath={path}. Keras 3 only supports V3 `.keras` "
        f"files{and_also} H5 "
        "format files (`.h5` extension). Note that the legacy SavedModel format is not supported by "
        "`load_model()` in Keras 3. In order to reload a TensorFlow SavedModel as an inference-only layer in "
        f"Keras 3, use `keras.layers.TFSMLayer({path}, call_endpoint='serving_default')` (note "
        "that your "
        "`call_endpoint` might have a different name)."
    )
