"""Read JSON as TensorFlow Serving's parser does, RapidJSON 1.1.0: the same values, and the same errors.

It reads what `orjson` does not: any depth of lists, NaN and infinities, bytes that are not UTF-8, a byte
order mark, anything after the end of the document, and objects with duplicate keys. Of those, the first
counts where TensorFlow Serving looks a key up; in objects within lists the last, as features of Examples
are assigned one after the other. It is slow where there are many strings, lists and objects: other parsers
come first, and `is_readable` limits their number.
"""

from __future__ import annotations

import math
import re
from typing import Any

import orjson

from tfport.serve.status import StatusError, invalid_argument

MARK = b"\xef\xbb\xbf"
# possessive: no backtracking
_SCALARS = re.compile(rb"[-+0-9.eE,truefalsn \t\r\n]*+")  # most lists have only these
_NESTED = re.compile(rb"(?:\[(?=\[))*+")
_BLANK = re.compile(rb"[ \t\r\n]*+")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*+')
_DIGITS = re.compile(rb"[0-9]*+")
_HEX = re.compile(rb"[0-9a-fA-F]{4}")
_ESCAPES = dict(zip(b'"\\/bfnrt', (b'"', b"\\", b"/", b"\b", b"\f", b"\n", b"\r", b"\t"), strict=True))
_WORDS = {ord("t"): (b"true", True), ord("f"): (b"false", False), ord("n"): (b"null", None)}
_END = 0
MOST_PARTS = 2**20
"""Maximum number of strings, lists and objects to read: about two seconds."""
MOST_DIGITS = 20
"""The digits of the largest integer of 64 bits, or the sign and digits of the smallest."""
EMPTY = "The document is empty."
INVALID = "Invalid value."
NO_NAME = "Missing a name for object member."
NO_COLON = "Missing a colon after a name of object member."
NO_COMMA_IN_OBJECT = "Missing a comma or '}' after an object member."
NO_COMMA_IN_LIST = "Missing a comma or ']' after an array element."
NO_QUOTATION_MARK = "Missing a closing quotation mark in string."
NO_FRACTION, NO_EXPONENT = "Miss fraction part in number.", "Miss exponent in number."
TOO_BIG = "Number too big to be stored in double."
BAD_ESCAPE, BAD_HEX = "Invalid escape character in string.", "Incorrect hex digit after \\u escape in string."
BAD_SURROGATE = "The surrogate pair in string is invalid."


def parse_error(message: str, offset: int) -> StatusError:
    """Return the error of a body that is not JSON."""
    return invalid_argument(f"JSON Parse error: {message} at offset: {offset}")


def is_readable(body: bytes) -> bool:
    """Whether a body is not too large for `read_json`."""
    return body.count(b"[") + body.count(b"{") + body.count(b'"') // 2 <= MOST_PARTS


def read_json(body: bytes) -> object:
    """Return the first document in a body, or raise TensorFlow Serving's error."""
    return _Reader(body).document()


class _Reader:
    """One pass over a body; `at` is the offset of the next byte."""

    def __init__(self, body: bytes) -> None:
        self.body, self.at = body, len(MARK) if body.startswith(MARK) else 0

    def document(self) -> object:
        first = self._next()
        if first in b"]}:,\0":
            raise parse_error(EMPTY, self.at)
        open_values: list[list[Any] | dict[str, Any]] = []
        keys: list[str] = []
        while True:
            if open_values and isinstance(open_values[-1], list):
                self._extend(open_values[-1])
            open_values += [[] for _ in range(self._nested())]
            value = self._value()
            if isinstance(value, list | dict):
                open_values.append(value)
                if self._opened(value, keys):
                    continue
                value = open_values.pop()
            # add the value to what is around it, as long as that ends after it
            while open_values:
                around = open_values[-1]
                self._add(around, keys, value, in_list=_in_list(open_values))
                if self._continues(around, keys):
                    break
                value = open_values.pop()
            else:
                return value

    def _nested(self) -> int:
        """Read the beginnings of lists that begin with a list; return their number."""
        match = _NESTED.match(self.body, self.at)
        assert match is not None
        self.at = match.end()
        return len(match[0])

    def _extend(self, values: list[Any]) -> None:
        """Read many numbers and words at once; errors are left to the slow way."""
        match = _SCALARS.match(self.body, self.at)
        assert match is not None
        run = match[0][: match[0].rfind(b",") + 1]
        if len(run) > len("false, false, "):
            try:
                values += orjson.loads(b"[%s]" % run[:-1])
                self.at += len(run)
            except orjson.JSONDecodeError:
                return

    def _next(self) -> int:
        """Return the next byte that is not blank; 0 at the end."""
        match = _BLANK.match(self.body, self.at)
        assert match is not None
        self.at = match.end()
        return self._byte()

    def _byte(self) -> int:
        return self.body[self.at] if self.at < len(self.body) else _END

    def _value(self) -> object:
        """Read a scalar, or the beginning of a list or an object."""
        byte = self._next()
        if byte in b"[{":
            self.at += 1
            return [] if byte == ord("[") else {}
        if byte == ord('"'):
            return self._string()
        if byte in _WORDS:
            return self._word(*_WORDS[byte])
        if byte in b"]}:,":
            raise parse_error(INVALID, self.at)
        return self._number()

    def _opened(self, value: list[Any] | dict[str, Any], keys: list[str]) -> bool:
        """Read on after the beginning of a list or an object; whether it has a value."""
        if self._next() == (ord("]") if isinstance(value, list) else ord("}")):
            self.at += 1
            return False
        if isinstance(value, dict):
            keys.append(self._name())
        return True

    def _continues(self, value: list[Any] | dict[str, Any], keys: list[str]) -> bool:
        """Read on after a value in a list or an object; whether another one follows."""
        is_list = isinstance(value, list)
        byte = self._next()
        if byte == ord(","):
            self.at += 1
            if not is_list:
                keys.append(self._name())
            elif self._next() == ord("]"):
                raise parse_error(INVALID, self.at)
            return True
        if byte != (ord("]") if is_list else ord("}")):
            raise parse_error(NO_COMMA_IN_LIST if is_list else NO_COMMA_IN_OBJECT, self.at)
        self.at += 1
        return False

    def _add(self, around: Any, keys: list[str], value: object, *, in_list: bool) -> None:
        if isinstance(around, list):
            around.append(value)
        elif in_list:
            around[keys.pop()] = value
        else:
            around.setdefault(keys.pop(), value)

    def _name(self) -> str:
        if self._next() != ord('"'):
            raise parse_error(NO_NAME, self.at)
        name = self._string()
        if self._next() != ord(":"):
            raise parse_error(NO_COLON, self.at)
        self.at += 1
        return name

    def _word(self, word: bytes, value: object) -> object:
        for byte in word:
            if self._byte() != byte:
                raise parse_error(INVALID, self.at)
            self.at += 1
        return value

    def _string(self) -> str:
        self.at += 1
        parts = []
        while True:
            match = _PLAIN.match(self.body, self.at)
            assert match is not None
            parts.append(match[0])
            self.at = match.end()
            byte = self._byte()
            if byte == ord('"'):
                self.at += 1
                return b"".join(parts).decode("utf-8", "surrogateescape")
            if byte == _END:
                raise parse_error(NO_QUOTATION_MARK, self.at)
            if byte != ord("\\"):
                raise parse_error(BAD_ESCAPE, self.at)
            parts.append(self._escaped())

    def _escaped(self) -> bytes:
        begin = self.at
        self.at += 1
        byte = self._byte()
        self.at += 1
        if byte in _ESCAPES:
            return _ESCAPES[byte]
        if byte != ord("u"):
            raise parse_error(BAD_ESCAPE, begin)
        code = self._hex(begin)
        if 0xD800 <= code <= 0xDBFF:
            if self.body[self.at : self.at + 2] != b"\\u":
                raise parse_error(BAD_SURROGATE, begin)
            self.at += 2
            low = self._hex(begin)
            if not 0xDC00 <= low <= 0xDFFF:
                raise parse_error(BAD_SURROGATE, begin)
            code = 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00
        return chr(code).encode("utf-8", "surrogatepass")

    def _hex(self, begin: int) -> int:
        match = _HEX.match(self.body, self.at)
        if match is None:
            raise parse_error(BAD_HEX, begin)
        self.at = match.end()
        return int(match[0], 16)

    def _number(self) -> int | float:
        begin = self.at
        if self._byte() == ord("-"):
            self.at += 1
        special = None
        if self._byte() in b"NI":
            special = self._not_finite(-1.0 if self.at > begin else 1.0)
        elif self._byte() == ord("0"):
            self.at += 1
        elif not self._digits():
            raise parse_error(INVALID, self.at)
        whole = True
        if self._byte() == ord("."):
            whole = False
            self.at += 1
            if not self._digits():
                raise parse_error(NO_FRACTION, self.at)
        if self._byte() in b"eE":
            whole = False
            self.at += 1
            if self._byte() in b"+-":
                self.at += 1
            if not self._digits():
                raise parse_error(NO_EXPONENT, self.at)
        if special is not None:
            return special
        text = self.body[begin : self.at]
        if whole and len(text) <= MOST_DIGITS and -(2**63) <= (integer := int(text)) < 2**64:
            return integer
        number = float(text)
        if math.isinf(number):
            raise parse_error(TOO_BIG, begin)
        return number

    def _digits(self) -> bool:
        match = _DIGITS.match(self.body, self.at)
        assert match is not None
        self.at = match.end()
        return bool(match[0])

    def _not_finite(self, sign: float) -> float:
        if self._byte() == ord("N"):
            self._word(b"NaN", None)
            return math.nan
        self._word(b"Inf", None)
        if self._byte() == ord("i"):
            self._word(b"inity", None)
        return sign * math.inf


def _in_list(open_values: list[Any]) -> bool:
    """Whether the innermost open value is in a list."""
    return len(open_values) > 1 and isinstance(open_values[-2], list)
