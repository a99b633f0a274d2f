"""Parse attribute values in the node notation: the inverse of `text.attr_text`."""

from __future__ import annotations

import json
import re

from tfport.errors import MalformedGraph
from tfport.graph.attrs import Attr, FunctionRef, Placeholder
from tfport.graph.dtypes import DType
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.graph.tensors import Tensor
from tfport.graph.tokens import Tokens

DEEPEST = 32
_WORDS = {"true": True, "false": False, "none": None}


def read_attrs(tokens: Tokens, depth: int = 0) -> dict[str, Attr]:
    """`{name=value, …}`, or nothing."""
    return dict(tokens.separated(lambda: _pair(tokens, depth), "}")) if tokens.skip("{") else {}


def _pair(tokens: Tokens, depth: int) -> tuple[str, Attr]:
    name = tokens.next("word")[1]
    tokens.next("=")
    return name, _value(tokens, depth)


def _value(tokens: Tokens, depth: int) -> Attr:
    if depth > DEEPEST:
        raise tokens.fail("nested too deeply")
    kind, text = tokens.next()
    if kind in _READ:
        return _READ[kind](text, tokens)
    if text == "[":
        return tokens.separated(lambda: _value(tokens, depth + 1), "]")
    if text == "(":
        return _shape(tokens)
    if text == "@":
        return FunctionRef(tokens.next("word")[1], read_attrs(tokens, depth + 1))
    if text == "$":
        return Placeholder(tokens.next("word")[1])
    raise tokens.fail(f"expected a value, found {text}")


def _number(text: str, tokens: Tokens) -> int | float:
    try:
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
    except ValueError:  # Python parses no integer of thousands of digits
        raise tokens.fail("a number has too many digits") from None


def read_string(text: str, tokens: Tokens) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        raise tokens.fail(f"{text} is not a JSON string") from None


def _bytes(text: str, tokens: Tokens) -> bytes:
    plain = re.sub(r"\\(x[0-9a-fA-F]{2}|[\\'\"abfnrtv]|[0-7]{1,3})", "", text[2:-1])
    if "\\" in plain or not plain.isascii():
        raise tokens.fail(f"{text} has an escape that is invalid in bytes")
    return text[2:-1].encode().decode("unicode_escape").encode("latin-1", "replace")


def _word(text: str, tokens: Tokens) -> Attr:
    if text in _WORDS:
        return _WORDS[text]
    try:
        dtype = DType.parse(text)
    except KeyError:
        return text
    return _tensor(dtype, tokens) if tokens.skip("(") else dtype


_READ = {
    "number": _number,
    "complex": lambda text, _: complex(text),
    "string": read_string,
    "bytes": _bytes,
    "word": _word,
}


def _shape(tokens: Tokens) -> Shape:
    if tokens.skip("..."):
        tokens.next(")")
        return UNKNOWN
    return Shape(tuple(tokens.separated(lambda: _size(tokens), ")")))


def _size(tokens: Tokens) -> int | None:
    text = tokens.next("number", "?")[1]
    size = None if text == "?" else _number(text, tokens)
    if isinstance(size, float) or (size is not None and not 0 <= size < 1 << 63):
        raise tokens.fail(f"{text} is not a valid size of an axis")
    return size


def _tensor(dtype: DType, tokens: Tokens) -> Tensor:
    import numpy as np

    shape = _shape(tokens)
    tokens.next("[")
    elements = tokens.separated(lambda: _value(tokens, DEEPEST), "]")
    if shape.size != len(elements):
        raise tokens.fail(
            f"expected {shape.size} elements for a tensor of shape {shape}, found {len(elements)}"
        )
    try:
        flat = np.empty(len(elements), dtype.numpy)
        flat[:] = [e.encode() if isinstance(e, str) else e for e in elements]
        return Tensor.from_numpy(flat.reshape([d or 0 for d in shape.dims or ()]), dtype)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise MalformedGraph(
            f"in `{tokens.shown}`: the elements are not valid for a {dtype} tensor"
        ) from None
