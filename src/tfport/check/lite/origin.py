"""What wrote a TensorFlow Lite file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfport.formats.lite.records import LiteFile


def lite_origin(file: LiteFile) -> str:
    """What wrote a file, and the interpreter that it asks for: `TensorFlow Lite, MLIR Converted.`."""
    needs = f", needs runtime {version}" if (version := _min_runtime_version(file)) else ""
    written = f", {file.description.rstrip('.')}" if file.description else ""
    return f"TensorFlow Lite{written}{needs}"


def _min_runtime_version(file: LiteFile) -> str:
    """The runtime that the converter thinks is needed; it names no op."""
    for name, buffer in file.metadata:
        if name == "min_runtime_version" and 0 <= buffer < len(file.buffers):
            return bytes(file.buffers[buffer][:32]).rstrip(b"\0").decode("ascii", "replace")
    return ""
