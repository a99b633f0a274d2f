"""Split JSON text into its numbers, its strings and its structure, without creating an object per number.

    flat = flatten(b'[{"x": [1, 2.5]}, {"x": [3, 4]}]', "d")
    flat.numbers                    1.0 2.5 3.0 4.0
    flat.strings                    "x" "x"
    flat.skeleton                   [{":[,]},{":[,]}]

The text is handled in slices that end at commas, so that memory is bounded and other threads can run between
them. simdjson parses the numbers of a slice. Text with escapes, or that is not JSON, gives None; whether the
skeleton is valid JSON is left to the caller.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tfport.startup.dataclass import dataclass

try:
    import simdjson
except ImportError:  # no wheel for some Python versions: slower, but the same results
    simdjson = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = Literal["d", "i", "u"]
SLICE = 2**20
"""Bytes to parse at a time."""
_MOST_CUTS = 16
_BLANK = b" \t\r\n"
_NUMBER = b"0123456789+-.eE"
_KINDS: dict[Kind, np.dtype[Any]] = {"d": np.dtype("f8"), "i": np.dtype("i8"), "u": np.dtype("u8")}
# two bits for what a byte must not follow, above two for what must not follow it: a number and an opening
# bracket or a string, a closing bracket or a string and a number
_NEIGHBORS = bytes(
    0b1001
    if byte in _NUMBER
    else 0b0110
    if byte == ord('"')
    else 0b0010 * (byte in b"[{") + 0b0100 * (byte in b"]}")
    for byte in range(256)
)
_AS_LIST = bytes.maketrans(b'[]{}"', b"    0")
_AS_POINTS = bytes.maketrans(b"eE", b"..")
_NOT_FRACTIONS = bytes(set(range(256)) - set(b",.eE"))
_parser = simdjson.Parser() if simdjson else None
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class FlatJson:
    """The parts of a JSON text."""

    skeleton: bytes
    """Brackets, braces, colons and commas, and a quotation mark for each string."""
    strings: list[bytes]
    """The strings as they are written, keys included."""
    numbers: NDArray[Any]
    """The numbers; a string that is not a key counts as 0."""
    fractions: NDArray[np.bool_]
    """Whether each number has a point or an exponent; empty if that was not requested."""


def available() -> bool:
    """Whether simdjson is installed."""
    return _parser is not None


def flatten(text: bytes, kind: Kind, *, with_fractions: bool = False) -> FlatJson | None:
    """Return the parts; `kind` is the type of the numbers: `d` (double), `i` (int64) or `u` (uint64)."""
    skeletons, strings, numbers, fractions = [], list[bytes](), [], []
    for part in _slices(text):
        if b'"' in part:
            pieces = part.split(b'"')
            if b"\\" in part or not len(pieces) % 2:
                return None
            strings += pieces[1::2]
            part = b'"'.join(pieces[::2])
        skeleton = part.translate(None, _NUMBER + _BLANK)
        if skeleton.strip(b","):
            if _lacks_commas(part):
                return None
            part = (part.replace(b'":', b"") if b'"' in part else part).translate(_AS_LIST)
        values = _parsed(part, kind)
        if values is None:
            return None
        skeletons.append(skeleton)
        numbers.append(values)
        if with_fractions:
            fractions.append(_fractions(part))
    return FlatJson(b"".join(skeletons), strings, _joined(numbers), _joined(fractions))


def _slices(text: bytes) -> Iterator[bytes]:
    """Cut after commas that are not in strings; a part with half a string means that there are none."""
    begin = 0
    while begin < len(text):
        end = text.find(b",", begin + SLICE) + 1 or len(text)
        for _ in range(_MOST_CUTS):
            if text.find(b'"', begin, end) < 0 or not text.count(b'"', begin, end) % 2:
                break
            end = text.find(b",", max(text.find(b'"', end), end)) + 1 or len(text)
        yield text[begin:end]
        begin = end


def _lacks_commas(part: bytes) -> bool:
    """Whether a number is beside a bracket or a string with nothing between them."""
    neighbors = np.frombuffer(part.translate(_NEIGHBORS, _BLANK), np.uint8)
    return bool(np.any((neighbors[:-1] >> 2) & neighbors[1:] & 0b11))


def _parsed(plain: bytes, kind: Kind) -> NDArray[Any] | None:
    text = b"[%s]" % plain.removesuffix(b",")
    with _lock:
        try:
            array = _parser.parse(text)  # type: ignore[union-attr]
            buffer = array.as_buffer(of_type=kind)  # type: ignore[union-attr]
        except (ValueError, TypeError, RuntimeError):  # not JSON, or not numbers of this type
            return None
        finally:
            array = None  # it uses the parser's memory
    return np.frombuffer(buffer, _KINDS[kind])


def _fractions(plain: bytes) -> NDArray[np.bool_]:
    points = plain.removesuffix(b",").translate(_AS_POINTS, _NOT_FRACTIONS) + b","
    flags = points.replace(b"..", b".").replace(b".,", b"1")
    return np.equal(np.frombuffer(flags, np.uint8), ord("1"))


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0)
