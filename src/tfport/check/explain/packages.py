"""Look up why Python code does not find a name or a module."""

from __future__ import annotations

import functools
from pathlib import Path

from tfport.atlas.target import Target
from tfport.check.explain.builds import own_keras
from tfport.check.explain.lookup import Meaning, MessageMatch

PACKAGES = {
    "tf_slim": "tf-slim", "tensorflow_addons": "tensorflow-addons", "tensorflow_hub": "tensorflow-hub",
    "tensorflow_text": "tensorflow-text", "tensorflow_probability": "tensorflow-probability",
    "tensorflow_datasets": "tensorflow-datasets", "tflite_runtime": "tflite-runtime", "cv2": "opencv-python",
    "sklearn": "scikit-learn", "skimage": "scikit-image", "PIL": "pillow", "yaml": "pyyaml",
}  # fmt: skip
"""The packages of modules whose name differs."""
INSTALLED = ("site-packages", "dist-packages")
COMPAT_V1_NAMES = Path(__file__).with_name("compat_v1_names.txt")


@functools.cache
def compat_v1_names() -> frozenset[str]:
    """The names that TensorFlow 2.21 has in `tf.compat.v1` and not in `tf`."""
    return frozenset(COMPAT_V1_NAMES.read_text(encoding="utf-8").split())


def attribute_of_tensorflow(match: MessageMatch, target: Target | None) -> Meaning:
    """Whether the name is one of TensorFlow 1 that `tf.compat.v1` still has."""
    name = match.names["name"]
    if name in compat_v1_names():
        return Meaning(
            [f"{name} is a name of TensorFlow 1, which TensorFlow 2 has as `tf.compat.v1.{name}`."],
            [
                "start the program with `import tensorflow.compat.v1 as tf` and `tf.disable_v2_behavior()`",
                "`tf_upgrade_v2 --infile OLD.py --outfile NEW.py` rewrites such names",
                "if the last file of the traceback is of a package, upgrade it, or use TensorFlow 1.15",
            ],
        )
    return Meaning(
        [],
        [
            "install the release of TensorFlow that the code was written for",
            "if common names are missing, uninstall every tensorflow package, and install one again",
            "make sure that no file or folder of yours is named tensorflow",
            "if the last file of the traceback is of an add-on, install its version for this TensorFlow",
        ],
    )


def module(match: MessageMatch, target: Target | None) -> Meaning:
    """What to install for a module, if its package has another name or must be of a certain version."""
    name = match.names["module"].partition(".")[0]
    if name == "keras":
        return own_keras(match, target)
    package = PACKAGES.get(name)
    return Meaning(ways_out=[f"python -m pip install {package}"]) if package else Meaning()


def own_file(match: MessageMatch, target: Target | None) -> Meaning | None:
    """Meaning() if the file is not one of an installed package."""
    path = match.names.get("path", "")
    return None if any(folder in path for folder in INSTALLED) else Meaning()
