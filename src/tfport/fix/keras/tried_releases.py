"""The releases of Keras in which rewritten files were loaded and run.

`tools/truth/keras_rewrites/run.py` runs them and records what happened; the record decides what is listed
(`tests/fix/keras/test_real_rewrites.py`).
"""

from __future__ import annotations

from tfport.atlas.keras_releases import KerasRelease

TRIED: dict[str, str] = {
    "keras": "3.0.5 3.1.1 3.2.1 3.3.3 3.4.1 3.5.0 3.6.0 3.7.0 3.8.0 3.9.2 3.10.0 3.11.3 3.12.4 3.13.2 "
    "3.14.1 3.15.1"
}
"""Versions by package; the Keras that a TensorFlow installs is listed as itself."""


def is_tried(release: KerasRelease) -> bool:
    return release.version in TRIED.get(release.package, "").split()
