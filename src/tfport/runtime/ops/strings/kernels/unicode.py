"""Strings in an encoding to code points and back, and the script of a code point."""

from __future__ import annotations

import functools
import itertools
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.strings.byte_strings import checked_splits, string_array
from tfport.runtime.ops.strings.charsets import BROKEN, Decoded, decoded, depends_on_order, is_known

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LAST = 0x10FFFF
_UNKNOWN = 0xFFFD
_CONTROL = 0x1F


@host("UnicodeDecode")
def unicode_decode(input, *, input_encoding, errors, replacement_char, replace_control_characters, Tsplits):
    return _decode(input, input_encoding, errors, replacement_char, replace_control_characters)[:2]


@host("UnicodeDecodeWithOffsets")
def unicode_decode_with_offsets(
    input, *, input_encoding, errors, replacement_char, replace_control_characters, Tsplits
):
    return _decode(input, input_encoding, errors, replacement_char, replace_control_characters)


def _decode(input: NDArray[Any], encoding: str, errors: str, replacement: int, controls: bool) -> Any:
    _checked(input, encoding, replacement)
    strings = [decoded(text, encoding) for text in input.reshape(-1).tolist()]
    if errors == "strict" and any((one.points == BROKEN).any() for one in strings):
        raise RunFailed(f"a string is not valid {encoding}")
    strings = [_settled(one, errors, replacement, controls) for one in strings]
    splits = np.cumsum([0, *(len(one.points) for one in strings)])
    none = np.zeros(0, np.int64)
    points = np.concatenate([none, *(one.points for one in strings)])
    return splits, points, np.concatenate([none, *(one.starts for one in strings)])


def _checked(input: NDArray[Any], encoding: str, replacement: int) -> None:
    if not is_known(encoding):
        raise RunFailed(f"tfport does not decode `{encoding}`")
    if depends_on_order(input.reshape(-1).tolist(), encoding):
        raise RunFailed("tfport does not decode several strings of UTF-16 with byte order marks at once")
    if not 0 <= replacement <= _LAST:
        raise RunFailed(f"{replacement} is no code point to replace others with")


def _settled(one: Decoded, errors: str, replacement: int, controls: bool) -> Decoded:
    """What is broken, and what is a control character if they count, replaced or left out."""
    wrong = one.points == BROKEN
    if controls:
        wrong = wrong | (one.points <= _CONTROL)
    if errors == "ignore":
        return Decoded(one.points[~wrong], one.starts[~wrong])
    return Decoded(np.where(wrong, replacement, one.points), one.starts)


@host("UnicodeTranscode")
def unicode_transcode(
    input, *, input_encoding, output_encoding, errors, replacement_char, replace_control_characters
):
    _checked(input, input_encoding, replacement_char)

    def transcoded(text: bytes) -> bytes:
        one = decoded(text, input_encoding)
        points = _settled(one, errors, replacement_char, replace_control_characters).points
        if errors == "strict" and not np.array_equal(
            points, _settled(one, "ignore", 0, replace_control_characters).points
        ):
            raise RunFailed(f"a string is not valid {input_encoding}")
        return _encoded(points, output_encoding)

    return string_array([transcoded(text) for text in input.reshape(-1).tolist()], input.shape)


@host("UnicodeEncode")
def unicode_encode(input_values, input_splits, *, errors, output_encoding, replacement_char):
    if not 0 <= replacement_char <= _LAST:
        raise RunFailed(f"{replacement_char} is no code point to replace others with")
    if not input_splits.size:
        raise RunFailed("there are no splits")
    splits = checked_splits(input_splits.tolist(), input_values.size)
    wrong = (input_values < 0) | (input_values > _LAST) | ((input_values >= 0xD800) & (input_values < 0xE000))
    if errors == "strict" and wrong.any():
        raise RunFailed("a code point is out of range, or a surrogate")
    points = np.where(wrong, replacement_char, input_values)
    rows = []
    for start, end in itertools.pairwise(splits):
        row = points[start:end]
        rows.append(_encoded(row[~wrong[start:end]] if errors == "ignore" else row, output_encoding))
    return string_array(rows)


def _encoded(points: NDArray[Any], encoding: str) -> bytes:
    """Code points in one of Unicode's encodings; a surrogate among them is not one."""
    points = np.where((points >= 0xD800) & (points < 0xE000), _UNKNOWN, points)
    return points.astype("<u4").tobytes().decode("utf-32-le").encode(encoding)


@host("UnicodeScript")
def unicode_script(input):
    starts, scripts = _scripts()
    found = scripts[np.searchsorted(starts, np.clip(input, 0, _LAST), "right") - 1]
    return np.where((input < 0) | (input > _LAST), -1, found)


@functools.cache
def _scripts() -> tuple[NDArray[Any], NDArray[Any]]:
    """Where ranges of code points begin, and their scripts."""
    text = (resources.files(__package__) / "unicode_scripts.txt").read_text()
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return np.array([int(start, 16) for start, _ in rows]), np.array([int(script) for _, script in rows])
