"""The libraries that each TensorFlow release loads into the process, as recorded from its wheels."""

from __future__ import annotations

import re

from tfport.atlas.versions import version_key

FRAMEWORK = re.compile(r"libtensorflow_framework\.so(?:\.\d+)*")
SINCE = (  # the first release with these libraries
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
    version = version_key(release)
    return next(names for first, names in reversed(SINCE) if version_key(first) <= version)


def releases_with(library: str) -> str:
    """The releases that have a library: `from 1.14 to before 2.0`; empty if none has it."""
    having = [i for i, (_, names) in enumerate(SINCE) if library in names]
    if not having:
        return ""
    first, after = SINCE[having[0]][0], having[-1] + 1
    return f"since {first}" if after == len(SINCE) else f"from {first} to before {SINCE[after][0]}"


def is_tensorflow(library: str) -> bool:
    """Whether a library belongs to any TensorFlow release, by its name."""
    return any(library in names for _, names in SINCE) or bool(FRAMEWORK.fullmatch(library))
