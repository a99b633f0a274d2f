"""UnicodeDecode, UnicodeEncode, UnicodeTranscode and UnicodeScript."""

from __future__ import annotations

import functools
import itertools
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.splits import check_splits
from tfport.runtime.ops.strings.byte_strings import string_array
from tfport.runtime.ops.strings.charsets import BROKEN, Decoded, decoded, depends_on_order, is_supported

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LAST = 0x10FFFF
_REPLACEMENT = 0xFFFD
_LAST_CONTROL = 0x1F


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
    text = (resources.files(__package__) / "unicode_scripts.txt").read_text()
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return np.array([int(start, 16) for start, _ in rows]), np.array([int(script) for _, script in rows])
