import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from tfport.formats.encoding.wire import FIXED32, FIXED64, LENGTH, VARINT, Fault, Field, content, walk
from tfport.formats.proto import graph_pb2 as pb


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def encode(number, wire, value):
    tag = varint(number << 3 | wire)
    if wire == VARINT:
        return tag, varint(value)
    if wire == LENGTH:
        return tag + varint(len(value)), value
    return tag, value


NUMBERS = st.integers(1, 2**29 - 1)
FIELDS = st.one_of(
    st.tuples(NUMBERS, st.just(VARINT), st.integers(0, 2**64 - 1)),
    st.tuples(NUMBERS, st.just(FIXED64), st.binary(min_size=8, max_size=8)),
    st.tuples(NUMBERS, st.just(FIXED32), st.binary(min_size=4, max_size=4)),
    st.tuples(NUMBERS, st.just(LENGTH), st.binary(max_size=300)),
)

FAULTS = [  # bytes, the byte and the reason of the fault
    (b"\x0a", 1, "ends within the length of field 1"),
    (b"\x80", 0, "ends within a field tag"),
    (b"\x08\xff", 1, "ends within field 1"),
    (b"\x0a\x05abc", 0, "ends 2 bytes before field 1 does"),
    (b"\x0a\x01a\x12\x02b", 3, "ends 1 byte before field 2 does"),
    (b"\x0d\x00\x00", 0, "ends 2 bytes before field 1 does"),
    (b"\x00", 0, "expected a field tag, found field number 0"),
    (b"\x0b", 0, "expected a field tag, found wire type 3"),
    (b"\x0f", 0, "expected a field tag, found wire type 7"),
    (b"\xff" * 11, 0, "a field tag is an integer of more than 10 bytes"),
    (b"\x0a\xff\xff\xff\xff\x7f", 0, "field 1 has 34359738367 bytes, more than a message can have"),
]


@given(st.lists(FIELDS, max_size=20))
def test_the_fields_are_those_that_were_written(fields):
    data, expected = b"", []
    for number, wire, value in fields:
        before, body = encode(number, wire, value)
        data += before + body
        expected.append(Field(number, wire, len(data) - len(body), len(body)))
    assert walk(data).fields == expected
    assert walk(memoryview(data), most=2).fields == expected[:2]


@given(st.lists(st.text(max_size=10), max_size=6), st.data())
def test_a_message_is_complete_if_protobuf_can_parse_it(names, draw):
    graph = pb.GraphDef(node=[pb.NodeDef(name=name, op="Op") for name in names], version=300)
    data = graph.SerializeToString()
    data = data[: draw.draw(st.integers(0, len(data)))]
    try:
        pb.GraphDef.FromString(data)
        is_complete = True
    except DecodeError:
        is_complete = False
    assert walk(data).is_complete == is_complete


@given(st.binary(max_size=200))
def test_any_bytes_have_fields_up_to_a_fault(data):
    steps = walk(data)
    assert all(len(content(data, f)) == f.size for f in steps.fields)
    assert steps.fault is None or 0 <= steps.fault.at < len(data) + 1


@pytest.mark.parametrize(("data", "at", "why"), FAULTS, ids=[why for _, _, why in FAULTS])
def test_a_fault_says_where_and_why(data, at, why):
    assert walk(data).fault == Fault(at, why, cut=why.startswith("ends"))


def test_a_walk_copies_nothing():
    data = b"\x0a\x83\x80\x80\x00" + b"abc"  # a length in more bytes than it needs is fine
    (field,) = walk(data).fields
    assert content(data, field).obj is data
    assert content(data, field) == b"abc"
