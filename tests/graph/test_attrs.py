import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.error_messages import reads_or_raises_one_line
from tests.graph.strategies import ATTRS

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import FunctionRef, Placeholder, decode, decode_all, encode, encode_all
from tfport.graph.dtypes import FLOAT32, DType
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor


def as_bytes(value: pb.AttrValue) -> bytes:
    return value.SerializeToString(deterministic=True)


@given(ATTRS)
@settings(max_examples=200)
def test_a_value_survives_a_round_trip(value):
    once = encode(value)
    again = decode(pb.AttrValue.FromString(as_bytes(once)))
    assert as_bytes(encode(again)) == as_bytes(once)
    if not contains_nan(value):
        assert again == value


def contains_nan(value: object) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, FunctionRef):
        return any(map(contains_nan, value.attrs.values()))
    return isinstance(value, list) and any(map(contains_nan, value))


IN_THE_FILE = [
    (pb.AttrValue(), None),
    (pb.AttrValue(s=b""), ""),
    (pb.AttrValue(s="é".encode()), "é"),
    (pb.AttrValue(s=b"\xff\xfe"), b"\xff\xfe"),
    (pb.AttrValue(i=-1), -1),
    (pb.AttrValue(f=0.1), 0.10000000149011612),
    (pb.AttrValue(b=False), False),
    (pb.AttrValue(type=pb.DT_FLOAT), FLOAT32),
    (pb.AttrValue(type=999), DType.of(999)),
    (pb.AttrValue(shape={"unknown_rank": True}), Shape(None)),
    (pb.AttrValue(placeholder="T"), Placeholder("T")),
    (pb.AttrValue(list={}), []),
    (pb.AttrValue(list={"b": [True, False]}), [True, False]),
    (pb.AttrValue(list={"s": [b"a", b"\xff"]}), ["a", b"\xff"]),
    (
        pb.AttrValue(func={"name": "f", "attr": {"T": {"placeholder": "U"}}}),
        FunctionRef("f", {"T": Placeholder("U")}),
    ),
    (pb.AttrValue(list={"func": [{"name": "f"}, {"name": "g"}]}), [FunctionRef("f"), FunctionRef("g")]),
]


@pytest.mark.parametrize(("proto", "value"), IN_THE_FILE)
def test_each_kind_of_value(proto, value):
    assert decode(proto) == value
    assert type(decode(proto)) is type(value)
    assert as_bytes(encode(value)) == as_bytes(proto)


def test_a_tensor_keeps_its_message():
    proto = pb.AttrValue(
        tensor={"dtype": pb.DT_FLOAT, "tensor_shape": {"dim": [{"size": 1000}]}, "float_val": [1]}
    )
    tensor = decode(proto)
    assert isinstance(tensor, Tensor)
    assert encode(tensor) == proto


def test_all_attributes_of_a_node():
    node = pb.NodeDef()
    encode_all({"T": FLOAT32, "N": 2, "unset": None}, node.attr)
    assert decode_all(node.attr) == {"T": FLOAT32, "N": 2, "unset": None}


def test_a_list_of_two_kinds_is_refused():
    both = pb.AttrValue(list={"i": [1], "s": [b"x"]})
    with pytest.raises(
        MalformedGraph, match=r"^expected a list attribute with elements of one kind, found s and i$"
    ):
        decode(both)


@pytest.mark.parametrize(
    "value", [1 << 63, -(1 << 63) - 1, [[1]], object(), {"a": 1}, [None], [Placeholder("T")]]
)
def test_a_value_that_no_attribute_can_have_is_refused(value):
    with pytest.raises(MalformedGraph, match=r"is not a valid attribute value$"):
        encode(value)


@given(st.binary(max_size=60))
def test_any_bytes_are_an_attribute_or_refused(data):
    try:
        value = pb.AttrValue.FromString(data)
    except Exception:
        return
    with reads_or_raises_one_line():
        encode(decode(value))
