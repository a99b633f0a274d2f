"""Large contents of a request, found in its bytes: the rest of the message is as protobuf reads it."""

import numpy as np
import pytest

from tfport.formats.proto import serving_wire_pb2 as wire
from tfport.serve.front_ends.alike_requests import CONTENT, INPUT, LARGE, NAME, TENSOR, without_contents


def request_of(**contents):
    request = wire.PredictRequestWire(output_filter=["y"])
    request.model_spec.name = "m"
    request.model_spec.version.value = 300
    for name, content in contents.items():
        tensor = request.inputs[name]
        tensor.dtype = 4
        tensor.tensor_shape.dim.add(size=len(content))
        tensor.tensor_content = content
    return request


def field(tag, value):
    """The bytes of a field that has a size."""
    size, left = b"", len(value)
    while left >= 0x80:
        size, left = size + bytes([left & 0x7F | 0x80]), left >> 7
    return bytes([tag]) + size + bytes([left]) + value


BYTES = np.random.default_rng(0).integers(0, 256, 3 * LARGE, np.uint8).tobytes()
LONG_TAG = bytes([CONTENT | 0x80, 0]) + field(CONTENT, BYTES)[1:]
LARGE_INPUT = field(INPUT, field(NAME, b"x") + field(TENSOR, field(CONTENT, BYTES)))


@pytest.mark.parametrize(
    "contents",
    [
        {"x": BYTES},
        {"x": BYTES[:LARGE], "y": BYTES[LARGE:]},
        {"small": b"abc", "x": BYTES, "empty": b""},
        {"": BYTES},
        {"größe": BYTES},
        {},
        {"small": b"abc"},
    ],
    ids=["one", "two", "with small ones", "no name", "not ASCII", "no inputs", "only a small one"],
)
def test_the_rest_is_what_protobuf_reads(contents):
    request = request_of(**contents)
    data = request.SerializeToString()
    message, taken = without_contents(data)
    assert {name: data[place] for name, place in taken.items()} == {
        name: content for name, content in contents.items() if len(content) >= LARGE
    }
    for name in taken:
        assert not message.inputs[name].tensor_content
        request.inputs[name].ClearField("tensor_content")
    assert message == request


def test_fields_in_any_order_and_unknown_ones():
    unknown = b"\x78\x96\x01" + b"\x75" + b"1234" + b"\x69" + b"12345678"
    tensor = field(CONTENT, BYTES) + unknown + b"\x08\x04"
    data = unknown + field(INPUT, field(TENSOR, tensor) + field(NAME, b"x")) + field(3 << 3 | 2, b"y")
    message, taken = without_contents(data)
    whole = wire.PredictRequestWire.FromString(data)
    assert data[taken["x"]] == whole.inputs["x"].tensor_content == BYTES
    whole.inputs["x"].ClearField("tensor_content")
    assert message.SerializeToString(deterministic=True) == whole.SerializeToString(deterministic=True)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * LARGE,
        LARGE_INPUT[:-1],
        LARGE_INPUT + LARGE_INPUT,
        LARGE_INPUT + field(INPUT, field(NAME, b"x") + field(TENSOR, b"\x08\x01")),
        field(INPUT, field(NAME, b"x") + 2 * field(TENSOR, field(CONTENT, BYTES))),
        field(INPUT, 2 * field(NAME, b"x") + field(TENSOR, field(CONTENT, BYTES))),
        field(INPUT, field(TENSOR, field(CONTENT, BYTES))),
        field(INPUT, field(NAME, b"x") + field(TENSOR, 2 * field(CONTENT, BYTES))),
        field(INPUT, field(NAME, b"\xff") + field(TENSOR, field(CONTENT, BYTES))),
        field(INPUT, field(NAME, b"x") + field(TENSOR, field(CONTENT, BYTES) + b"\x12\x01\xff")),
        field(INPUT, field(NAME, b"x") + field(TENSOR, LONG_TAG)),
        LARGE_INPUT + b"\x0b\x0c",
        LARGE_INPUT + b"\x08\x80",
        LARGE_INPUT + b"\x12\xff\xff\xff\xff\xff\x01",
    ],
    ids=[
        "no message", "cut off", "twice", "twice, once small", "two tensors", "two names", "no name",
        "two contents", "a name that is no text", "a wrong shape", "a long tag", "a group", "an open number",
        "a size that is too large",
    ],
)  # fmt: skip
def test_what_is_unusual_is_left_alone(data):
    assert without_contents(data) is None


def test_a_message_that_is_cut_off_anywhere():
    data = request_of(small=b"abc", x=BYTES[:LARGE]).SerializeToString()
    for end in [*range(200), *range(len(data) - 200, len(data))]:
        taken = without_contents(data[:end])
        if taken is not None:
            message, places = taken
            for name, place in places.items():
                message.inputs[name].tensor_content = data[place]
            assert message == wire.PredictRequestWire.FromString(data[:end])
