"""The outputs of a model as text, as JSON and as an .npz file."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tfport.errors import Error
from tfport.formats.output import new_path
from tfport.reports.console import indented, title
from tfport.reports.layout import ReportPart, Text
from tfport.words import printable

VERSION = 1
DIGITS = 6
MOST_SHOWN = 100
"""A larger array is abbreviated."""


def render_outputs(outputs: dict[str, Any], width: int) -> Iterator[ReportPart]:
    for name, array in flatten_outputs(outputs).items():
        yield title(name, f"{_dtype(array)} {tuple(array.shape)}")
        yield indented(Text(harmless_lines(_array_text(array, width - 2))))


def flatten_outputs(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs with the parts of composite tensors as separate arrays."""
    arrays: dict[str, Any] = {}
    for name, value in outputs.items():
        if isinstance(value, tuple):
            arrays.update((f"{name}[{i}]", part) for i, part in enumerate(value))
        else:
            arrays[name] = value
    return arrays


def _dtype(array: Any) -> str:
    return "string" if array.dtype == object else str(array.dtype)


def _array_text(array: Any, width: int) -> str:
    plain = array
    if array.dtype == object:
        plain = np.empty(array.shape, object)
        plain.reshape(-1)[:] = [_StringRepr(element) for element in array.reshape(-1).tolist()]
    elif array.dtype.kind == "V":  # NumPy cannot print the types of ml_dtypes
        plain = array.astype(np.float32)
    return np.array2string(
        plain, max_line_width=width, precision=DIGITS, threshold=MOST_SHOWN, separator=", "
    )


class _StringRepr:
    """Print a string as text, or as bytes if it is not UTF-8."""

    def __init__(self, value: bytes) -> None:
        self.value = value

    def __repr__(self) -> str:
        try:
            return repr(self.value.decode())
        except UnicodeDecodeError:
            return repr(self.value)


def harmless_lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.splitlines())


def outputs_json(model: str, signature: str, outputs: dict[str, Any]) -> dict[str, Any]:
    arrays = {
        name: {"dtype": _dtype(array), "shape": list(array.shape), "value": _json_value(array)}
        for name, array in flatten_outputs(outputs).items()
    }
    return {"version": VERSION, "model": model, "signature": signature, "outputs": arrays}


def _json_value(array: Any) -> Any:
    """Nested lists; bytes that are not UTF-8 as `{"b64": …}`, complex numbers as pairs, NaN as a string."""
    if array.dtype == object:
        return _nested(array, _text_or_base64)
    if array.dtype.kind == "c":
        return _nested(array, lambda z: [_number(z.real), _number(z.imag)])
    if array.dtype.kind in "fV":
        return _nested(array.astype(np.float64), _number)
    return array.tolist()


def _nested(array: Any, convert: Any) -> Any:
    if array.ndim == 0:
        return convert(array.item())
    return [
        _nested(part, convert) if isinstance(part, np.ndarray) else convert(part) for part in _parts(array)
    ]


def _parts(array: Any) -> list[Any]:
    return array.tolist() if array.ndim == 1 else list(array)


def _number(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)


def _text_or_base64(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode()}


def write_npz(outputs: Mapping[str, Any], path: str) -> None:
    """Write the arrays by name; strings as fixed-width bytes, which cannot end in a zero byte."""
    plain = {}
    for name, array in flatten_outputs(outputs).items():
        if array.dtype == object:
            if not is_storable(array):
                raise Error(
                    f"{path}: `{name}` has strings that end in a zero byte, which .npz cannot store; "
                    "use --json"
                )
            array = array.astype(bytes)
        elif array.dtype.kind == "V":
            array = array.astype(np.float32)
        plain[name] = array
    with new_path(path) as temporary, open(temporary, "xb") as file:
        np.savez(file, **plain)


def is_storable(array: Any) -> bool:
    """Whether an .npz file can hold exactly these elements."""
    if array.dtype == object:
        return not any(element.endswith(b"\0") for element in array.reshape(-1).tolist())
    return bool(array.dtype.kind != "V")
