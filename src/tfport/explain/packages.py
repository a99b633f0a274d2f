"""Look up which package contains a module, and whether a file of the program has its name."""

from __future__ import annotations

import re

from tfport.atlas.target import Target
from tfport.explain.builds import own_keras
from tfport.explain.lookup import Meaning, MessageMatch

PACKAGES = {
    "tf_slim": "tf-slim", "tensorflow_addons": "tensorflow-addons", "tensorflow_hub": "tensorflow-hub",
    "tensorflow_text": "tensorflow-text", "tensorflow_probability": "tensorflow-probability",
    "tensorflow_datasets": "tensorflow-datasets", "tflite_runtime": "tflite-runtime", "cv2": "opencv-python",
    "sklearn": "scikit-learn", "skimage": "scikit-image", "PIL": "pillow", "yaml": "pyyaml",
}  # fmt: skip
"""The packages of modules whose name differs."""
INSTALLED = ("site-packages", "dist-packages")


def module(match: MessageMatch, target: Target | None) -> Meaning | None:
    """What to install for a module, if its package has another name or must be of a certain version."""
    if match.is_cut:
        return None
    name = match.names["module"].partition(".")[0]
    if name == "keras":
        inside = "use the Keras inside TensorFlow (1.4 or later): `from tensorflow import keras`"
        meaning = own_keras(match, target)
        return Meaning(meaning.facts, [inside, *meaning.ways_out], meaning.on_target)
    package = PACKAGES.get(name)
    return Meaning(ways_out=[f"python -m pip install {package}"]) if package else Meaning()


def own_file(match: MessageMatch, target: Target | None) -> Meaning | None:
    """Meaning() if the file is not one of an installed package."""
    path = match.names.get("path", "")
    return None if any(folder in path for folder in INSTALLED) else Meaning()


def own_or_other_module(match: MessageMatch, target: Target | None) -> Meaning | None:
    """Whether a file of the program has the name of the module; otherwise its version is another one."""
    if match.is_cut or not match.is_quoted(match.names["name"]):
        return None
    name = match.names["module"]
    package = name.partition(".")[0]
    own = [
        path
        for path in re.findall(rf"File ['\"]([^'\"]{{0,300}}\b{re.escape(package)}\.py)['\"]", match.before)
        if not any(folder in path for folder in INSTALLED)
    ]
    if own:
        return Meaning(
            [f"The file {own[-1]} has the name of the package, so that `import` finds it instead."],
            ["rename the file, and delete its `__pycache__`"],
        )
    return Meaning(
        ["The code was written for another version of the package, or a file of yours has its name."],
        [
            f"`python -c 'import {package}; print({package}.__file__)'` shows which file is imported",
            f"install the version of {PACKAGES.get(package, package)} that the code was made for, or change"
            " the code; if the last file of the traceback is of another package, upgrade that one",
        ],
    )
