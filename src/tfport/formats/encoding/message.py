"""Parse protobuf messages, binary or text, and locate the byte at which one is malformed.

`read_message(GraphDef, files, "graph.pb")` recognizes binary and text by the content.
The protobuf parser only reports that bytes are corrupt. The position and the cause are determined
afterwards, by descending to the field that does not parse.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, TypeVar, cast

from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

from tfport.errors import UnreadableFile
from tfport.formats.encoding.wire import LARGEST, LENGTH, Bytes, Fault, content, walk
from tfport.formats.files import Files

if TYPE_CHECKING:
    from google.protobuf.text_format import ParseError

M = TypeVar("M", bound=Message)

CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
# comments, then the first field: `node {`, `version: 3`
TEXT = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|#[^\n]*(?:\n|$))*(?:[A-Za-z_]\w*\s*[:{<]|$)")
HEAD = 4096
LONGEST_QUOTE = 160


def read_message(kind: type[M], files: Files, name: str) -> M:
    """Read the message in a file."""
    return parse_message(kind, files.map(name), files.label(name))


def parse_message(kind: type[M], data: Bytes, where: str) -> M:
    """Parse a message; errors call its bytes `where`."""
    if not len(data):
        raise UnreadableFile(f"{where}: expected a {kind.DESCRIPTOR.name}, found an empty file")
    if is_text(data):
        return parse_text(kind, data, where)
    if len(data) > LARGEST:
        raise UnreadableFile(f"{where}: a protobuf message can have at most 2 GiB, found {len(data)} bytes")
    try:
        return kind.FromString(data)  # type: ignore[arg-type]  # upb accepts a memoryview too
    except DecodeError:
        raise UnreadableFile(explain(cast(Descriptor, kind.DESCRIPTOR), data, where)) from None


def is_text(data: Bytes) -> bool:
    """Whether a message is in text format. A binary message has a control character in its first field."""
    head = bytes(data[:HEAD])
    return CONTROL.search(head) is None and TEXT.match(head) is not None


def parse_text(kind: type[M], data: Bytes, where: str) -> M:
    from google.protobuf import text_format  # imported here, as few models are text

    message = kind()
    try:
        with warnings.catch_warnings():  # Python warns of escapes such as `\l`, which protobuf allows
            warnings.simplefilter("ignore", DeprecationWarning)
            text_format.Parse(str(data, "utf-8-sig"), message)
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{where}, byte {error.start}: the text is not UTF-8") from None
    except RecursionError:
        raise UnreadableFile(f"{where}: the messages are nested too deeply") from None
    except text_format.ParseError as error:
        raise UnreadableFile(f"{where}{place(error)}: {quote(error)}") from None
    return message


def place(error: ParseError) -> str:
    line, column = error.GetLine(), error.GetColumn()
    return f", line {line}, column {column}" if line is not None else ""


def quote(error: ParseError) -> str:
    """The message of the text parser, without the repeated line and the full names of types."""
    text = re.sub(r"^\d+:\d+ : ", "", str(error)).rpartition("': ")[2]
    text = text.replace("tfport.formats.proto.", "").rstrip(".").replace("\n", " ")
    return text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…"


def explain(kind: Descriptor, data: Bytes, where: str) -> str:
    """The error message for bytes that do not parse."""
    path, fault = first_fault(kind, data)
    if fault is None:  # every field parses on its own, so the nesting is too deep
        return f"{where}: the messages are nested too deeply"
    inside = f", in {path}" if path else ""
    if not fault.cut:
        return f"{where}, byte {fault.at}{inside}: {fault.why}"
    if inside:
        return f"{where}, byte {fault.at}{inside}: the message {fault.why}"
    return f"{where}, byte {fault.at}: the file {fault.why}; the download or copy was cut short"


def first_fault(kind: Descriptor, data: Bytes, at: int = 0) -> tuple[str, Fault | None]:
    """The innermost field that does not parse, as `node[3].attr[0]`, and its fault."""
    steps = walk(data)
    if steps.fault:
        return "", Fault(at + steps.fault.at, steps.fault.why, steps.fault.cut)
    for step in steps.fields:
        field = kind.fields_by_number.get(step.number)
        if field is None or step.wire != LENGTH:
            continue
        inner, fault = fault_of(field, content(data, step), at + step.start)
        if fault:
            same = [other for other in steps.fields if other.number == step.number]
            name = f"{field.name}[{same.index(step)}]" if len(same) > 1 else field.name
            return f"{name}.{inner}".rstrip("."), fault
    return "", None


def fault_of(field: FieldDescriptor, data: memoryview, at: int) -> tuple[str, Fault | None]:
    """The fault of the value of a field, if it has one."""
    if field.type == FieldDescriptor.TYPE_STRING:
        return "", bad_text(data, at)
    if field.message_type is None:
        return "", None
    try:
        message_factory.GetMessageClass(field.message_type).FromString(data)  # type: ignore[arg-type]
    except DecodeError:
        return first_fault(field.message_type, data, at)
    return "", None


def bad_text(data: memoryview, at: int) -> Fault | None:
    try:
        str(data, "utf-8")
    except UnicodeDecodeError as error:
        return Fault(at + error.start, f"expected UTF-8 text, found byte 0x{data[error.start]:02x}")
    return None
