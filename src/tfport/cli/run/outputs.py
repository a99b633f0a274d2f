"""What a model answered, for people, for programs and in a file."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.text import Text

from tfport.check.console import indented, title
from tfport.check.printable import printable
from tfport.errors import Error
from tfport.formats.output import new_path

VERSION = 1
DIGITS = 6
MOST_SHOWN = 100
"""Elements of an array that is shown whole."""


def answers_text(answers: dict[str, Any], width: int) -> Iterator[RenderableType]:
    for name, array in _flat(answers).items():
        yield title(name, f"{_type(array)} {tuple(array.shape)}")
        yield indented(Text(harmless_lines(_shown(array, width - 2))))


def _flat(answers: dict[str, Any]) -> dict[str, Any]:
    """Composite answers part by part."""
    found: dict[str, Any] = {}
    for name, value in answers.items():
        if isinstance(value, tuple):
            found.update((f"{name}[{i}]", part) for i, part in enumerate(value))
        else:
            found[name] = value
    return found


def _type(array: Any) -> str:
    return "string" if array.dtype == object else str(array.dtype)


def _shown(array: Any, width: int) -> str:
    plain = array
    if array.dtype == object:
        plain = np.empty(array.shape, object)
        plain.reshape(-1)[:] = [_Text(one) for one in array.reshape(-1).tolist()]
    elif array.dtype.kind == "V":  # numpy does not know how to print these
        plain = array.astype(np.float32)
    return np.array2string(
        plain, max_line_width=width, precision=DIGITS, threshold=MOST_SHOWN, separator=", "
    )


class _Text:
    """A string as it is read, or as bytes where it is none."""

    def __init__(self, value: bytes) -> None:
        self.value = value

    def __repr__(self) -> str:
        try:
            return repr(self.value.decode())
        except UnicodeDecodeError:
            return repr(self.value)


def harmless_lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.splitlines())


def answers_json(model: str, signature: str, answers: dict[str, Any]) -> dict[str, Any]:
    outputs = {
        name: {"dtype": _type(array), "shape": list(array.shape), "value": _plain(array)}
        for name, array in _flat(answers).items()
    }
    return {"version": VERSION, "model": model, "signature": signature, "outputs": outputs}


def _plain(array: Any) -> Any:
    """Nested lists; bytes that are no text as `{"b64": …}`, complex numbers as pairs, NaN as text."""
    if array.dtype == object:
        return _nested(array, _text_or_base64)
    if array.dtype.kind == "c":
        return _nested(array, lambda z: [_number(z.real), _number(z.imag)])
    if array.dtype.kind in "fV":
        return _nested(array.astype(np.float64), _number)
    return array.tolist()


def _nested(array: Any, one: Any) -> Any:
    if array.ndim == 0:
        return one(array.item())
    return [_nested(part, one) if isinstance(part, np.ndarray) else one(part) for part in _parts(array)]


def _parts(array: Any) -> list[Any]:
    return array.tolist() if array.ndim == 1 else list(array)


def _number(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)


def _text_or_base64(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode()}


def write_npz(answers: dict[str, Any], path: str) -> None:
    """The answers as arrays by name; strings as fixed-width bytes, which cannot end in a zero byte."""
    plain = {}
    for name, array in _flat(answers).items():
        if array.dtype == object:
            if any(one.endswith(b"\0") for one in array.reshape(-1).tolist()):
                raise Error(
                    f"{path}: `{name}` has strings that end in a zero byte, which .npz loses; use --json"
                )
            array = array.astype(bytes)
        elif array.dtype.kind == "V":
            array = array.astype(np.float32)
        plain[name] = array
    with new_path(path) as temporary, open(temporary, "xb") as file:
        np.savez(file, **plain)
