"""The releases in which rewritten models were loaded and run: a certificate says so if the target is another.

`make evidence` runs them and records what happened; the records decide what is listed
(`tests/fix/test_tried_releases.py`).
"""

from __future__ import annotations

MODELS, KERAS_FILES, LITE_FILES = "models", "Keras files", "TensorFlow Lite files"
TRIED: dict[str, dict[str, str]] = {
    MODELS: {
        "tensorflow": "1.4.1 1.5.0 1.6.0 1.7.1 1.8.0 1.9.0 1.10.1 1.11.0 1.12.3 1.13.2 1.14.0 1.15.5 2.0.4 "
        "2.1.4 2.2.3 2.3.4 2.4.4 2.5.3 2.6.5 2.7.4 2.8.4 2.9.3 2.10.1 2.11.1 2.12.1 2.13.1 "
        "2.14.1 2.15.1 2.16.2 2.17.1 2.18.1 2.21.0"
    },
    KERAS_FILES: {
        "keras": "2.8.0 2.10.0 2.12.0 2.15.0 3.0.5 3.1.1 3.2.1 3.3.3 3.4.1 3.5.0 3.6.0 3.7.0 3.8.0 3.9.2 "
        "3.10.0 3.11.3 3.12.4 3.13.2 3.14.1 3.15.1",
        "tensorflow": "1.12.3 1.15.5 2.3.4 2.4.4",
        "tf-keras": "2.15.1 2.18.0 2.21.0",
    },
    LITE_FILES: {
        "ai-edge-litert": "1.0.1 1.1.2 1.2.0 1.3.0 1.4.0 2.0.3 2.1.6 2.2.0 2.3.0",
        "tflite-runtime": "2.7.0 2.14.0",
    },
}
"""Versions by what is written and by package; a TensorFlow up to 2.5 stands for the Keras inside it."""


def is_tried(files: str, package: str, version: str) -> bool:
    return version in TRIED[files].get(package, "").split()
