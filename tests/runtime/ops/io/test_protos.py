import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tests.runtime.cases import boolean, case, check, checks, f32, f64, i32, i64, strings, u32, u64
from tests.runtime.ops.io.examples import example, serialized

from tfport.graph.dtypes import DType

TYPES = {
    "double": 1, "float": 2, "int64": 3, "uint64": 4, "int32": 5, "fixed64": 6, "fixed32": 7, "bool": 8,
    "string": 9, "bytes": 12, "uint32": 13, "sfixed32": 15, "sfixed64": 16, "sint32": 17, "sint64": 18,
}  # fmt: skip
TENSORS = {
    "double": "float64", "float": "float32", "int64": "int64", "uint64": "uint64", "int32": "int32",
    "fixed64": "uint64", "fixed32": "uint32", "bool": "bool", "string": "string", "bytes": "string",
    "uint32": "uint32", "sfixed32": "int32", "sfixed64": "int64", "sint32": "int32", "sint64": "int64",
}  # fmt: skip


def described():
    file = descriptor_pb2.FileDescriptorProto(name="t.proto", package="t", syntax="proto3")
    message = file.message_type.add(name="M")
    for i, (name, number) in enumerate(TYPES.items()):
        message.field.add(name=f"o_{name}", number=i + 1, type=number, label=1)
        message.field.add(name=f"r_{name}", number=100 + i, type=number, label=3)
    message.field.add(name="sub", number=50, type=11, type_name=".t.M", label=1)
    message.field.add(name="subs", number=51, type=11, type_name=".t.M", label=3)
    kind = file.enum_type.add(name="E")
    kind.value.add(name="A", number=0)
    kind.value.add(name="B", number=7)
    message.field.add(name="en", number=60, type=14, type_name=".t.E", label=1)
    message.field.add(name="unpacked", number=61, type=5, label=3).options.packed = False
    return file


SOURCE = b"bytes://" + descriptor_pb2.FileDescriptorSet(file=[described()]).SerializeToString()
POOL = descriptor_pool.DescriptorPool()
POOL.Add(described())
M = message_factory.GetMessageClass(POOL.FindMessageTypeByName("t.M"))
A = M(o_int32=-5, r_int32=[1, 2], o_string="x", r_float=[1.5], en=7, unpacked=[4, -5])
A.sub.o_int32 = 3
A, B = A.SerializeToString(), M(r_int32=[9, 8, 7], r_bytes=[b"\xff", b""]).SerializeToString()
FULL = M()
for name, tensor in TENSORS.items():
    value = {"s": "text", "b": True, "f": 2.5}.get(tensor[0], 77 if tensor[0] == "u" else -77)
    value = b"raw" if name == "bytes" else value
    setattr(FULL, f"o_{name}", value)
    getattr(FULL, f"r_{name}").extend([value, value])
FULL = FULL.SerializeToString()


def decode(messages, fields, *, message_type="t.M", source=SOURCE, fails=False, **attrs):
    return case(
        "DecodeProtoV2",
        messages,
        message_type=message_type,
        field_names=list(fields),
        output_types=[DType.parse(t) for t in fields.values()],
        descriptor_source=source,
        fails=fails,
        **attrs,
    )


def encode(sizes, fields, *, fails=False):
    return case(
        "EncodeProto",
        np.asarray(sizes, np.int32),
        list(fields.values()),
        field_names=list(fields),
        message_type="t.M",
        descriptor_source=SOURCE,
        fails=fails,
    )


ALL = {f"{label}_{name}": tensor for name, tensor in TENSORS.items() for label in "or"}
WIDER = {"int32": "int64", "float": "float64", "uint32": "uint64", "sint32": "int64", "sfixed32": "int64"}
ARRAYS = {
    "float64": f64([0.1]), "float32": f32([0.1]), "int64": i64([-77]), "int32": i32([-77]),
    "string": strings(["text"]), "bool": boolean([True]), "uint64": u64([1 << 63]), "uint32": u32([1 << 31]),
}  # fmt: skip

CASES = [
    decode(serialized(FULL, A), ALL),
    decode(serialized(FULL), {f"r_{name}": tensor for name, tensor in WIDER.items()}),
    decode(
        serialized(A, B),
        {"o_int32": "int32", "r_int32": "int64", "sub": "string", "subs": "string", "en": "int32"},
    ),
    decode(serialized(A, B), {"unpacked": "int32", "r_bytes": "string"}),
    decode(serialized(A, FULL), {"o_int32": "int64", "unpacked": "int64", "o_sint32": "int64"}),
    decode(serialized(A + A, b""), {"o_int32": "int32", "r_int32": "int32", "sub": "string"}),
    decode(serialized(A, B, B, A).reshape(2, 2), {"r_int32": "int32"}),
    decode(serialized(A).reshape(()), {"r_int32": "int32"}),
    decode(serialized(A), {}),
    decode(
        serialized(b"o_int32: 5 r_int32: [3, 4] sub { o_int32: 1 }"),
        {"o_int32": "int32", "r_int32": "int32", "sub": "string"},
        message_format="text",
    ),
    decode(serialized(A + b"\xfa\x7f\x01x"), {"sub": "string"}, sanitize=True),
    decode(serialized(A + b"\xfa\x7f\x01x"), {"sub": "string"}),
    decode(
        serialized(example(a=[1])),
        {"features": "string"},
        message_type="tensorflow.Example",
        source="local://",
    ),
    decode(
        serialized(b"\x0a\x03abc\x12\x02Op"),
        {"name": "string", "op": "string", "input": "string"},
        message_type="tensorflow.NodeDef",
        source="local://",
    ),
    decode(serialized()[:0], {"sub": "string"}, fails=True),
    decode(serialized(b"\xff"), {"sub": "string"}, fails=True),
    decode(serialized(A[:-1]), {"sub": "string"}, fails=True),
    decode(serialized(A), {"nope": "string"}, fails=True),
    decode(serialized(A), {"r_int32": "float32"}, fails=True),
    decode(serialized(A), {"o_string": "int32"}, fails=True),
    decode(serialized(A), {"o_string": "string"}, message_type="t.N", fails=True),
    decode(serialized(A), {"o_string": "string"}, source="bytes://nonsense", fails=True),
    decode(serialized(b"nope: 1"), {"sub": "string"}, message_format="text", fails=True),
    decode(serialized(A), {"sub": "string"}, message_format="json", fails=True),
    encode(np.ones((1, 15)), {f"o_{name}": ARRAYS[tensor] for name, tensor in TENSORS.items()}),
    encode(np.full((1, 15), 2), {f"r_{n}": np.repeat(ARRAYS[t], 2, 1) for n, t in TENSORS.items()}),
    encode([[1, 1]], {"o_int32": i64([1 << 33 | 5]), "o_float": f64([0.1])}),
    encode([[2, 1]], {"r_int32": i32([1, 2]), "o_int32": i32([5])}),
    encode([[2, 0], [1, 1]], {"unpacked": i32([1, 2], [3, 4]), "r_int32": i32([5, 6], [7, 8])}),
    encode([[1, 1, 1]], {"sub": strings([b"\x08\x01"]), "en": i32([7]), "r_bytes": strings([b"\xff"])}),
    encode([[[1], [0]]], {"o_int32": i32([[1], [2]])}),
    encode([[3]], {"unpacked": i32([1, 2])}, fails=True),
    encode([1], {"o_int32": i32(4)}, fails=True),
    encode([[1]], {"o_int32": i32([5], [6])}, fails=True),
    encode([[1]], {"o_int32": f32([5])}, fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_protos(c, ways):
    check("protos", c, ways)
