"""UnicodeDecode, UnicodeEncode, UnicodeTranscode and UnicodeScript."""

from __future__ import annotations

import codecs
import functools
import itertools
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.bounds.run_scope import reserve_memory
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.splits import check_splits
from tfport.runtime.ops.shared.arrays import string_array
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


_LAST = 0x10FFFF
_REPLACEMENT = 0xFFFD
_LAST_CONTROL = 0x1F
DECODED, DECODING = 12, 60
"""Bytes for a code point and its offset, and what it takes until they are known."""


@host("UnicodeDecode")
def unicode_decode(input, *, input_encoding, errors, replacement_char, replace_control_characters, Tsplits):
    return _decode_text(input, input_encoding, errors, replacement_char, replace_control_characters)[:2]


@host("UnicodeDecodeWithOffsets")
def unicode_decode_with_offsets(
    input, *, input_encoding, errors, replacement_char, replace_control_characters, Tsplits
):
    return _decode_text(input, input_encoding, errors, replacement_char, replace_control_characters)


def _decode_text(input: NDArray[Any], encoding: str, errors: str, replacement: int, controls: bool) -> Any:
    _checked(input, encoding, replacement)
    size = sum(map(len, input.reshape(-1).tolist()))
    reserve_memory(DECODED * size, DECODING * size)
    strings = [decoded(text, encoding) for text in input.reshape(-1).tolist()]
    if errors == "strict" and any((string.points == BROKEN).any() for string in strings):
        raise RunFailed(f"input has a string that is not valid {encoding}")
    strings = [_without_errors(string, errors, replacement, controls) for string in strings]
    splits = np.cumsum([0, *(len(string.points) for string in strings)])
    none = np.zeros(0, np.int64)
    points = np.concatenate([none, *(string.points for string in strings)])
    return splits, points, np.concatenate([none, *(string.starts for string in strings)])


def _checked(input: NDArray[Any], encoding: str, replacement: int) -> None:
    if not is_supported(encoding):
        raise RunFailed(f"unsupported input_encoding `{encoding}`")
    if depends_on_order(input.reshape(-1).tolist(), encoding):
        raise RunFailed("unsupported: several UTF-16 strings with byte order marks; decode them one by one")
    if not 0 <= replacement <= _LAST:
        raise RunFailed(f"replacement_char must be a code point up to {_LAST}, found {replacement}")


def _without_errors(string: Decoded, errors: str, replacement: int, controls: bool) -> Decoded:
    """Replace or remove invalid code points, and control characters if `controls` is set."""
    invalid = string.points == BROKEN
    if controls:
        invalid = invalid | (string.points <= _LAST_CONTROL)
    if errors == "ignore":
        return Decoded(string.points[~invalid], string.starts[~invalid])
    return Decoded(np.where(invalid, replacement, string.points), string.starts)


@host("UnicodeTranscode")
def unicode_transcode(
    input, *, input_encoding, output_encoding, errors, replacement_char, replace_control_characters
):
    _checked(input, input_encoding, replacement_char)

    def transcoded(text: bytes) -> bytes:
        string = decoded(text, input_encoding)
        points = _without_errors(string, errors, replacement_char, replace_control_characters).points
        if errors == "strict" and not np.array_equal(
            points, _without_errors(string, "ignore", 0, replace_control_characters).points
        ):
            raise RunFailed(f"input has a string that is not valid {input_encoding}")
        return _encoded(points, output_encoding)

    return string_array([transcoded(text) for text in input.reshape(-1).tolist()], input.shape)


@host("UnicodeEncode")
def unicode_encode(input_values, input_splits, *, errors, output_encoding, replacement_char):
    if not 0 <= replacement_char <= _LAST:
        raise RunFailed(f"replacement_char must be a code point up to {_LAST}, found {replacement_char}")
    if not input_splits.size:
        raise RunFailed("input_splits must not be empty")
    check_splits(input_splits, input_values.size)
    splits = input_splits.tolist()
    invalid = (
        (input_values < 0) | (input_values > _LAST) | ((input_values >= 0xD800) & (input_values < 0xE000))
    )
    if errors == "strict" and invalid.any():
        raise RunFailed(f"input_values must be valid code points, found {int(input_values[invalid][0])}")
    points = np.where(invalid, replacement_char, input_values)
    rows = []
    for start, end in itertools.pairwise(splits):
        row = points[start:end]
        rows.append(_encoded(row[~invalid[start:end]] if errors == "ignore" else row, output_encoding))
    return string_array(rows)


def _encoded(points: NDArray[Any], encoding: str) -> bytes:
    """Encode code points in a Unicode encoding; surrogates become U+FFFD."""
    points = np.where((points >= 0xD800) & (points < 0xE000), _REPLACEMENT, points)
    return points.astype("<u4").tobytes().decode("utf-32-le").encode(encoding)


@host("UnicodeScript")
def unicode_script(input):
    starts, scripts = _scripts()
    of_input = scripts[np.searchsorted(starts, np.clip(input, 0, _LAST), "right") - 1]
    return np.where((input < 0) | (input > _LAST), -1, of_input)


@functools.cache
def _scripts() -> tuple[NDArray[Any], NDArray[Any]]:
    """The first code points of ranges, and their scripts."""
    text = (resources.files(__package__) / "unicode_scripts.txt").read_text("utf-8")
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return np.array([int(start, 16) for start, _ in rows]), np.array([int(script) for _, script in rows])


# Decode bytes to code points, as TensorFlow does with ICU's converters.
#
# Case, hyphens, underscores and spaces in encoding names are ignored. Multibyte encodings other than
# Unicode (Shift-JIS, GB18030 …) are unsupported: Python's tables differ from ICU's.

BROKEN = 0xD800
"""Marks bytes that cannot be decoded; no encoding decodes to this code point."""
_UNICODE = {
    "utf8": "utf-8",
    "utf16be": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32be": "utf-32-be",
    "utf32le": "utf-32-le",
}
_BY_MARK = {
    "utf16": ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"", "utf-16-be")),
    "utf32": ((b"\xff\xfe\0\0", "utf-32-le"), (b"\0\0\xfe\xff", "utf-32-be"), (b"", "utf-32-be")),
}
"""Byte order marks, which are removed, and their encodings; the last entry is for no mark."""
_BYTES = {
    "usascii": "ascii", "ascii": "ascii", "latin1": "latin-1", "koi8r": "koi8-r", "koi8u": "koi8-u",
    "macintosh": "mac-roman", "macroman": "mac-roman",
    **{f"iso8859{n}": f"iso8859-{n}" for n in (*range(1, 12), 13, 14, 15)},
}  # fmt: skip
_WINDOWS = {
    1250: "",
    1251: "",
    1252: "",
    1253: "d2ff",
    1254: "",
    1255: "cad9dadbdcdddedffbfcff",
    1256: "",
    1257: "a1a5",
    1258: "",
}
"""Code pages and their undefined bytes; other bytes without a character map to their own value."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The code points of a string, including BROKEN, and the byte offset of each."""

    points: NDArray[Any]
    starts: NDArray[Any]


def decoded(text: bytes, encoding: str) -> Decoded:
    """Decode a string."""
    name = re.sub("[-_ ]", "", encoding).lower()
    if name in _BY_MARK:
        mark, codec = next((mark, codec) for mark, codec in _BY_MARK[name] if text.startswith(mark))
        if name == "utf16" and text == mark != b"":
            return Decoded(np.array([0xFFFF]), np.zeros(1, np.int64))  # ICU's result for a mark alone
        inner = _of_unicode(text[len(mark) :], codec)
        starts = inner.starts + len(mark)
        starts[:1] = 0
        return Decoded(inner.points, starts)
    if name in _UNICODE:
        return _of_unicode(text, _UNICODE[name])
    table = _table(name)
    if table is None:
        raise RunFailed(f"unsupported input_encoding `{encoding}`")
    return Decoded(table[np.frombuffer(text, np.uint8)], np.arange(len(text)))


def depends_on_order(texts: list[bytes], encoding: str) -> bool:
    """Whether TensorFlow decodes a string by the byte order marks of earlier strings."""
    marks = (b"\xff\xfe", b"\xfe\xff")
    is_utf16 = re.sub("[-_ ]", "", encoding).lower() == "utf16"
    return is_utf16 and len(texts) > 1 and any(text.startswith(marks) for text in texts)


def is_supported(encoding: str) -> bool:
    name = re.sub("[-_ ]", "", encoding).lower()
    return name in _UNICODE or name in _BY_MARK or _table(name) is not None


def _of_unicode(text: bytes, codec: str) -> Decoded:
    points = np.frombuffer(text.decode(codec, _SPANS).encode("utf-32-le", "surrogatepass"), "<i4")
    broken = points & ~_SURROGATE == BROKEN
    spans = points[broken] - BROKEN
    points = np.where(broken, BROKEN, points)
    if codec == "utf-8":
        widths = 1 + (points > 0x7F) + (points > 0x7FF) + (points > 0xFFFF)
    else:
        widths = np.full(len(points), 4) if "32" in codec else 2 + 2 * (points > 0xFFFF)
    widths[broken] = spans
    return Decoded(points, np.cumsum(widths) - widths)


def _span(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are invalid as a surrogate, which no text has, that says how many they are."""
    assert isinstance(error, UnicodeDecodeError)
    return chr(BROKEN + error.end - error.start), error.end


_SPANS = "tfport.spans"
_SURROGATE = 0x7FF
codecs.register_error(_SPANS, _span)


@functools.cache
def _table(name: str) -> NDArray[Any] | None:
    """The code point of each byte value; None if the encoding is unknown."""
    page = re.fullmatch("(?:windows|cp)(125[0-8])", name)
    codec = f"cp{page[1]}" if page else _BYTES.get(name)
    if codec is None:
        return None
    undefined = bytes.fromhex(_WINDOWS[int(page[1])]) if page else b""
    code_points = np.full(256, BROKEN, np.int32)
    for byte in range(256):
        try:
            code_points[byte] = ord(bytes([byte]).decode(codec))
        except UnicodeDecodeError:
            if page and byte not in undefined:
                code_points[byte] = byte
    return code_points
