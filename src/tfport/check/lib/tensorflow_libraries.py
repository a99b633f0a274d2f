"""Which libraries does a release of TensorFlow bring into the process, by the names they go by?

As the recorded wheels have them.
"""

from __future__ import annotations

import re

from tfport.atlas.versions import version_key

FRAMEWORK = re.compile(r"libtensorflow_framework\.so(?:\.\d+)*")
SINCE = (  # the first release, and the libraries that it and those after it have
    ("1.0", ("_pywrap_tensorflow.so",)),
    ("1.1", ("_pywrap_tensorflow_internal.so",)),
    ("1.4", ("libtensorflow_framework.so", "_pywrap_tensorflow_internal.so")),
    ("1.14", ("libtensorflow_framework.so.1", "_pywrap_tensorflow_internal.so")),
    ("2.0", ("libtensorflow_framework.so.2", "_pywrap_tensorflow_internal.so")),
    ("2.12", ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2", "_pywrap_tensorflow_internal.so")),
    (
        "2.20",
        (
            "libtensorflow_framework.so.2",
            "libtensorflow_cc.so.2",
            "lib_pywrap_tensorflow_common.so",
            "_pywrap_tensorflow_internal.so",
        ),
    ),
)


def libraries_of(release: str) -> tuple[str, ...]:
    """The libraries of a release."""
    asked = version_key(release)
    return next(names for first, names in reversed(SINCE) if version_key(first) <= asked)


def releases_with(library: str) -> str:
    """Which releases have a library of this name: `1.14 to 1.15`; empty where none has."""
    having = [i for i, (_, names) in enumerate(SINCE) if library in names]
    if not having:
        return ""
    first, after = SINCE[having[0]][0], having[-1] + 1
    return f"since {first}" if after == len(SINCE) else f"{first} until before {SINCE[after][0]}"


def is_tensorflow(library: str) -> bool:
    """Whether a library is one of TensorFlow's own, of whatever release."""
    return any(library in names for _, names in SINCE) or bool(FRAMEWORK.fullmatch(library))
