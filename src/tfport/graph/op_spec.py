"""The definition of an op from the texts that C++ registers it with.

    definition("Add2", attrs=["T: {float, int32} = DT_FLOAT"], inputs=["x: T"], outputs=["z: T"])

The grammar is that of TensorFlow's OpDefBuilder. An invalid text raises ValueError.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import cast

from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.dtypes import DType

ATTR = re.compile(r"\s*(\w+)\s*:\s*(.+)", re.DOTALL)
LIST = re.compile(r"list\s*\(\s*(.*?)\s*\)\s*(.*)", re.DOTALL)
SET = re.compile(r"\{(.*?)\}\s*(.*)", re.DOTALL)
WORD = re.compile(r"(\w+)\s*(.*)", re.DOTALL)
LEAST = re.compile(r">=\s*(-?\d+)\s*(.*)", re.DOTALL)
ARGUMENT = re.compile(r"\s*(\w+)\s*:\s*(Ref\s*\(\s*)?(?:(\w+)\s*\*\s*)?(\w+)\s*\)?\s*")
OP_NAME = re.compile(r"(?:_|[A-Z])[A-Za-z0-9>._\-/]*|[A-Za-z0-9.]+>[A-Za-z0-9>._\-/]*")
PLAIN = ("string", "int", "float", "bool", "type", "shape", "tensor", "func")
REAL = "float double int32 uint8 int16 int8 int64 bfloat16 uint16 half uint32 uint64"
NUMBERS = (
    "float double int32 uint8 int16 int8 complex64 int64 qint8 quint8 qint32 bfloat16 qint16 quint16 uint16 "
    "complex128 half uint32 uint64"
)
GROUPS = {
    "realnumbertype": REAL,
    "numbertype": NUMBERS,
    "quantizedtype": "qint8 quint8 qint32 qint16 quint16",
}


def definition(
    name: str,
    attrs: Sequence[str] = (),
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    *,
    base: pb.OpDef | None = None,
) -> pb.OpDef:
    """The definition that these texts register; `base` may already have attributes."""
    op_def = pb.OpDef(name=name, attr=base.attr if base is not None else ())
    for text in attrs:
        op_def.attr.append(_attr(text))
    types = {attr.name: attr.type for attr in op_def.attr}
    for text in inputs:
        op_def.input_arg.append(_argument(text, types))
    for text in outputs:
        op_def.output_arg.append(_argument(text, types))
    return op_def


def pieces(text: str, separator: str, start: int = 0) -> list[tuple[int, str]]:
    """The parts between separators outside of brackets and quotes: their start and their stripped text."""
    parts, depth, quote, begin = [], 0, "", start
    for at in range(start, len(text) + 1):
        letter = text[at] if at < len(text) else ""
        if quote:
            quote = "" if letter == quote and text[at - 1] != "\\" else quote
        elif letter in ("'", '"'):
            quote = letter
        elif letter and letter in "([{":
            depth += 1
        elif letter and letter in ")]}":
            depth -= 1
        if at == len(text) or (letter == separator and not depth and not quote):
            piece = text[begin:at]
            parts.append((begin + len(piece) - len(piece.lstrip()), piece.strip()))
            begin = at + 1
    return parts


def registration_errors(
    name: str, attrs: Sequence[str], inputs: Sequence[str], outputs: Sequence[str]
) -> list[str]:
    """TensorFlow's errors for invalid names in a registration."""
    errors = []
    known = {named[1] for text in attrs if (named := ATTR.fullmatch(text))}
    for kind, texts in (("Input", inputs), ("Output", outputs)):
        for text in texts:
            argument = ARGUMENT.fullmatch(text)
            words = [w for w in (argument[3], argument[4]) if w] if argument else []
            unknown = [w for w in words if w not in known and not (w == words[-1] and is_type(w))]
            errors += [
                f"Reference to unknown attr '{w}' from {kind}(\"{text}\") for Op {name}" for w in unknown
            ]
    if not OP_NAME.fullmatch(name):
        errors.append(f"Invalid name: {name} (Did you use CamelCase?)")
    return errors


def is_type(word: str) -> bool:
    """Whether a word names a data type."""
    try:
        _type(word)
    except ValueError:
        return False
    return True


def _attr(text: str) -> pb.OpDef.AttrDef:
    named = ATTR.fullmatch(text)
    if named is None:
        raise ValueError(f"expected an attribute such as `T: type`, found {text}")
    attr = pb.OpDef.AttrDef(name=named[1])
    rest = named[2].strip()
    is_list = LIST.fullmatch(rest)
    kind, after = _kind(attr, is_list[1] if is_list else rest)
    attr.type = f"list({kind})" if is_list else kind
    rest = is_list[2] if is_list else after
    if least := LEAST.fullmatch(rest):
        attr.has_minimum, attr.minimum, rest = True, int(least[1]), least[2]
    if rest.startswith("="):
        _default(attr, kind, rest[1:].strip(), is_list=bool(is_list))
    elif rest:
        raise ValueError(f"expected `>=` or `=` after the type of an attribute, found `{rest}` in {text}")
    return attr


def _kind(attr: pb.OpDef.AttrDef, text: str) -> tuple[str, str]:
    """The type of an attribute, and the text after it; sets its allowed values."""
    if braces := SET.fullmatch(text):
        values = [value for _, value in pieces(braces[1], ",") if value]
        if values and values[0][0] in "\"'":
            attr.allowed_values.list.s.extend(_text(value) for value in values)
            return "string", braces[2]
        attr.allowed_values.list.type.extend(number for value in values for number in _types(value))
        return "type", braces[2]
    word = WORD.fullmatch(text)
    if word is None:
        raise ValueError(f"expected an attribute type, found {text}")
    if word[1] in GROUPS:
        attr.allowed_values.list.type.extend(_types(word[1]))
        return "type", word[2]
    if word[1] not in PLAIN:
        raise ValueError(f"expected an attribute type, found {word[1]}")
    return word[1], word[2]


def _types(name: str) -> list[pb.DataType]:
    return [_type(member) for member in GROUPS.get(name, name).split()]


def _type(name: str) -> pb.DataType:
    try:
        return cast(pb.DataType, DType.parse(name.removeprefix("DT_").lower()).number)
    except KeyError:
        raise ValueError(f"expected a data type, found {name}") from None


def _default(attr: pb.OpDef.AttrDef, kind: str, text: str, *, is_list: bool) -> None:
    if not is_list:
        _set_value(attr.default_value, kind, text)
        return
    attr.default_value.list.SetInParent()
    if not (text.startswith("[") and text.endswith("]")):
        raise ValueError(f"the default of a list must be in [], got {text}")
    for _, part in pieces(text[1:-1], ","):
        if part:
            value = pb.AttrValue()
            _set_value(value, kind, part)
            field = value.WhichOneof("value") or "s"
            getattr(attr.default_value.list, field).append(getattr(value, field))


def _text(literal: str) -> bytes:
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        value = None
    if not isinstance(value, str | bytes):
        raise ValueError(f"expected a quoted string, found {literal}")
    return value if isinstance(value, bytes) else value.encode()


def _set_value(value: pb.AttrValue, kind: str, text: str) -> None:
    try:
        _fill(value, kind, text)
    except (ValueError, KeyError) as error:
        raise ValueError(f"expected a value of type {kind}, found {text}") from error


def _fill(value: pb.AttrValue, kind: str, text: str) -> None:
    match kind:
        case "string":
            value.s = _text(text)
        case "int":
            value.i = int(text)
        case "float":
            value.f = float(text)
        case "bool":
            value.b = {"true": True, "false": False}[text.lower()]
        case "type":
            value.type = _type(text)
        case "shape":
            _set_shape(value.shape, text)
        case _:
            raise ValueError(f"defaults of type {kind} are not supported, found {text}")


def _set_shape(shape: pb.TensorShapeProto, text: str) -> None:
    shape.SetInParent()
    if "unknown_rank" in text:
        shape.unknown_rank = True
    elif text not in ("{}", "[]"):
        for size in re.findall(r"size\s*:\s*(-?\d+)", text) or re.findall(r"-?\d+", text):
            shape.dim.add().size = int(size)


def _argument(text: str, types: dict[str, str]) -> pb.OpDef.ArgDef:
    match = ARGUMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"expected an argument such as `x: T`, found {text}")
    name, ref, number, type_text = match.groups()
    arg = pb.OpDef.ArgDef(name=name, is_ref=bool(ref), number_attr=number or "")
    if type_text not in types:
        arg.type = _type(type_text)
    elif types[type_text] == "list(type)":
        arg.type_list_attr = type_text
    else:
        arg.type_attr = type_text
    return arg
