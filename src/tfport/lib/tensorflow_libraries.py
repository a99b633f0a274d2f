"""The libraries that each TensorFlow release loads into the process, as recorded from its wheels.

Only those that other libraries can name: since 2.20 `_pywrap_tensorflow_internal.so` has no
name of its own (DT_SONAME), so the loader does not find it.
"""

from __future__ import annotations

import re

from tfport.atlas.versions import version_key

FRAMEWORK = re.compile(r"libtensorflow_framework\.so(?:\.\d+)*")
FRAMEWORK_COPY = re.compile(r"libtensorflow_framework-[0-9a-f]{8}\.so(?:\.\d+)*")
"""The name of a copy that `auditwheel` put into a wheel."""
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
        ),
    ),
)
NEEDED = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libstdc++.so.6", "libgcc_s.so.1")
"""The system libraries that every release needs, so that they are in the process with it.

Read from the framework library of every wheel, for x86-64 and ARM64. Most also need librt.
"""
FRAMEWORK_VERSION, OTHERS_VERSION = "VERS_1.0", "tensorflow"
FRAMEWORK_VERSION_SINCE, VERSIONS_UNTIL = "1.10", "2.20"
UNTIL_NOW = ("libtensorflow_cc.so.2",)
"""Libraries that still have a version."""


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


def symbol_version(library: str, release: str) -> str:
    """The only symbol version that a library of a release defines; empty if it defines none.

    Read from every wheel. The symbols of `libtensorflow_framework` do not have the version
    that it defines; those of the other libraries do.
    """
    versioned = has_symbol_versions(release)
    if FRAMEWORK.fullmatch(library):
        is_new = version_key(release) >= version_key(FRAMEWORK_VERSION_SINCE)
        return FRAMEWORK_VERSION if is_new and versioned else ""
    return OTHERS_VERSION if versioned or library in UNTIL_NOW else ""


def has_symbol_versions(release: str) -> bool:
    """Whether all libraries of a release, except `libtensorflow_framework`, give their symbols a version."""
    return version_key(release) < version_key(VERSIONS_UNTIL)


def is_tensorflow(library: str) -> bool:
    """Whether a library belongs to any TensorFlow release, by its name."""
    return any(library in names for _, names in SINCE) or bool(FRAMEWORK.fullmatch(library))
