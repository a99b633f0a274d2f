"""Decode bytes to code points, as TensorFlow does with ICU's converters.

Case, hyphens, underscores and spaces in encoding names are ignored. Multibyte encodings other than
Unicode (Shift-JIS, GB18030 …) are unsupported: Python's tables differ from ICU's.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    spans: list[int] = []
    word = _decode(text, codec, spans)
    points = np.frombuffer(word.encode("utf-32-le", "surrogatepass"), "<i4")
    if codec == "utf-8":
        widths = 1 + (points > 0x7F) + (points > 0x7FF) + (points > 0xFFFF)
    else:
        widths = np.full(len(points), 4) if "32" in codec else 2 + 2 * (points > 0xFFFF)
    widths[points == BROKEN] = spans
    return Decoded(points, np.cumsum(widths) - widths)


def _decode(text: bytes, codec: str, spans: list[int]) -> str:
    """Decode a string, with BROKEN for each invalid span; append the lengths of these to `spans`."""
    try:
        return text.decode(codec)
    except UnicodeDecodeError:
        pass
    word: list[str] = []
    start = 0
    while start < len(text):
        try:
            word.append(text[start:].decode(codec))
            break
        except UnicodeDecodeError as error:
            word.append(text[start : start + error.start].decode(codec))
            word.append(chr(BROKEN))
            spans.append(error.end - error.start)
            start += error.end
    return "".join(word)


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
