"""Read Predict requests that may be sent together: those that differ in the contents of tensors only.

    requests = AlikeRequests()
    request = requests.read(data, caller)          None if it cannot be part of a group

A client sends many requests of one form: the same bytes but for the large contents, at the same positions.
Such a request is compared with the last one of its length, and not parsed again.

Protobuf copies a content when it parses a message, and again for each reader. So the bytes of a message are
walked here as far as its contents, and protobuf parses the rest. Whatever is unusual, such as an input that
comes twice, is None: the message is then sent as it is, and the server says what is wrong with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from math import prod
from typing import NamedTuple

from google.protobuf.message import DecodeError

from tfport.formats.encoding.tensor import NUMPY
from tfport.formats.proto import serving_wire_pb2 as wire
from tfport.serve.front_ends.messages import CallAnswer
from tfport.serve.grpc.service import Caller
from tfport.startup.dataclass import dataclass, field

# Large contents of tensors

LARGE = 1 << 14
"""Bytes from which the content of a tensor goes into a block."""
MORE, BITS = 0x80, 7
LONGEST_SIZE = 5
"""Bytes of a size, at most."""
VARINT, EIGHT_BYTES, SIZED, FOUR_BYTES = 0, 1, 2, 5
"""How the value of a field is written, the lowest three bits of its tag."""
INPUT, NAME, TENSOR, CONTENT = (number << 3 | SIZED for number in (2, 1, 2, 4))
"""Tags: of `inputs` in a request, of `key` and `value` in an input, of `tensor_content` in a tensor."""


class _Field(NamedTuple):
    """A field in a message: where it starts, where its value does, and where it ends."""

    tag: int
    start: int
    value: int
    end: int


def without_contents(data: bytes) -> tuple[wire.PredictRequestWire, dict[str, slice]] | None:
    """Return the message without its large contents, and where these are, by the name of the input."""
    view, rest = memoryview(data), bytearray()
    contents: dict[str, slice] = {}
    tensors: dict[str, bytes] = {}
    try:
        for field in _fields(view, 0, len(data)):
            large = _content_of(view, field) if field.tag == INPUT and _is_large(field) else None
            if large is None:
                rest += view[field.start : field.end]
                continue
            name, tensor, content = large
            if name in contents:
                return None
            tensors[name] = data[tensor.value : content.start] + data[content.end : tensor.end]
            contents[name] = slice(content.value, content.end)
        message = wire.PredictRequestWire.FromString(bytes(rest))
        if contents.keys() & message.inputs.keys():
            return None
        for name, light in tensors.items():
            message.inputs[name].MergeFromString(light)
    except (DecodeError, IndexError, ValueError):
        return None
    return message, contents


def _content_of(view: memoryview, entry: _Field) -> tuple[str, _Field, _Field] | None:
    """The name of an input, its tensor and the content of that; None if that is not large."""
    parts = list(_fields(view, entry.value, entry.end))
    if sorted(part.tag for part in parts) != [NAME, TENSOR]:
        raise ValueError("not one name and one tensor")
    name, tensor = sorted(parts)
    contents = [field for field in _fields(view, tensor.value, tensor.end) if field.tag == CONTENT]
    if len(contents) > 1:
        raise ValueError("several contents")
    if not contents or not _is_large(contents[0]):
        return None
    return str(view[name.value : name.end], "utf-8"), tensor, contents[0]


def _fields(view: memoryview, at: int, end: int) -> Iterator[_Field]:
    """The fields of a message; only those with small numbers, as others are unusual beside contents."""
    while at < end:
        start, tag = at, view[at]
        wire_type = tag & 0b111
        if tag & MORE:
            raise ValueError("a large number of a field")
        if wire_type == SIZED:
            size, value = _size(view, at + 1)
            at = value + size
        elif wire_type == VARINT:
            value = at = at + 1
            while view[at] & MORE:
                at += 1
            at += 1
        elif wire_type in (FOUR_BYTES, EIGHT_BYTES):
            value = at + 1
            at = value + (4 if wire_type == FOUR_BYTES else 8)
        else:
            raise ValueError("an obsolete kind of field")
        if at > end:
            raise ValueError("a field that is cut off")
        yield _Field(tag, start, value, at)


def _size(view: memoryview, at: int) -> tuple[int, int]:
    """A size, and where it ends."""
    size = 0
    for index in range(LONGEST_SIZE):
        size |= (view[at + index] & ~MORE) << BITS * index
        if not view[at + index] & MORE:
            return size, at + index + 1
    raise ValueError("a size that is too large")


def _is_large(field: _Field) -> bool:
    return field.end - field.value >= LARGE


# Forms of requests

TRACED = ("traceparent", "b3")
"""Headers that make a request one of a trace."""
MAX_FORMS = 100
"""Lengths of requests that are remembered; clients choose them freely."""
MAX_REST = LARGE
"""Bytes of a form besides large contents, at most."""


@dataclass(eq=False, slots=True)
class AlikeRequest:
    """A request whose contents are apart from its message."""

    kind: bytes
    """The message without contents."""
    contents: dict[str, memoryview]
    rows: int
    caller: Caller
    data: bytes
    answer: asyncio.Future[CallAnswer] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


@dataclass(slots=True)
class _RequestForm:
    """What requests have in common: all bytes besides their large contents, and what these bytes say."""

    kind: bytes
    rows: int
    large: dict[str, slice]
    small: dict[str, memoryview]
    rest: list[tuple[slice, bytes]]

    def fits(self, data: bytes) -> bool:
        """Whether a request of the same length has this form."""
        return all(data[at] == part for at, part in self.rest)

    def request(self, data: bytes, caller: Caller) -> AlikeRequest:
        view = memoryview(data)
        contents = {name: view[at] for name, at in self.large.items()}
        return AlikeRequest(self.kind, self.small | contents, self.rows, caller, data)


class AlikeRequests:
    """The forms of requests that a front end has seen."""

    def __init__(self) -> None:
        self._forms: dict[int, _RequestForm] = {}
        """By the length of the requests."""

    def read(self, data: bytes, caller: Caller) -> AlikeRequest | None:
        """The request of a Predict message; None if it cannot be part of a group."""
        if len(data) < LARGE or any(header in caller.headers for header in TRACED):
            return None
        form = self._forms.get(len(data))
        if form is None or not form.fits(data):
            form = _form_of(data)
            if form is None:
                return None
            self._remember(len(data), form)
        return form.request(data, caller)

    def _remember(self, length: int, form: _RequestForm) -> None:
        if sum(len(part) for _, part in form.rest) > MAX_REST:
            return
        if len(self._forms) >= MAX_FORMS:
            self._forms.clear()
        self._forms[length] = form


def _form_of(data: bytes) -> _RequestForm | None:
    taken = without_contents(data)
    if taken is None:
        return None
    message, large = taken
    small: dict[str, memoryview] = {}
    rows = set()
    for name, tensor in message.inputs.items():
        shape = [dim.size for dim in tensor.tensor_shape.dim]
        rows.add(shape[0] if shape else 0)
        if name in large:
            size = large[name].stop - large[name].start
        else:
            small[name] = memoryview(tensor.tensor_content)
            size = len(small[name])
            tensor.ClearField("tensor_content")
        dtype = NUMPY.get(tensor.dtype)
        if dtype is None or dtype.hasobject or size != prod(shape) * dtype.itemsize:
            return None
    count = rows.pop() if len(rows) == 1 else 0
    if count < 1:
        return None
    ends = sorted([0, len(data), *(edge for at in large.values() for edge in (at.start, at.stop))])
    ranges = [slice(a, b) for a, b in list(pairwise(ends))[::2]]
    rest = [(at, data[at]) for at in ranges]
    return _RequestForm(message.SerializeToString(deterministic=True), count, large, small, rest)
