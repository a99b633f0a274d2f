import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    boolean,
    c64,
    case,
    check,
    checks,
    f16,
    f32,
    f64,
    graph_case,
    i8,
    i16,
    i32,
    i64,
    numbers,
    strings,
    u8,
)  # fmt: skip

from tfport.formats.encoding.tensor import from_numpy
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.dtypes import DType

A = (i64([0, 1], [1, 0], [2, 2]), f32(1, 2, 3), i64(3, 3))
WORDS = (i64([0, 0], [1, 2]), strings("a", "bc"), i64(2, 4))
EMPTY = (np.zeros((0, 2), np.int64), f32(), i64(2, 5))
UNSORTED = (i64([1, 0], [0, 1]), f32(1, 2), i64(2, 2))
KINDS = [f32(1, 2), f64(0.5), f16(1, -2), bf16(3), i8(-1), u8(255), i16(7), i32([1, 2], [3, 4]), i64(1 << 40),
         boolean(True, False), c64(1j), strings("a", "", "x" * 200), strings(["ü", "b"], ["c", "d"]),
         np.float32(5), f32(), np.zeros((2, 0), np.int32), np.array(b"one", object)]  # fmt: skip


def written(array, kind):
    """A tensor as in files: in a typed list or as raw bytes."""
    return one(from_numpy(np.asarray(array), DType.parse(kind).number).SerializeToString())


def one(text):
    return np.array(text, object)


LISTED = pb.TensorProto(dtype="DT_FLOAT", float_val=[1.5])
LISTED.tensor_shape.dim.add(size=3)
BAD = pb.TensorProto(dtype="DT_FLOAT", tensor_content=b"123")
BAD.tensor_shape.dim.add(size=3)

MANY = """
    i = Placeholder() {dtype=int64, shape=(?, 2)}
    v = Placeholder() {dtype=float32, shape=(?)}
    s = Placeholder() {dtype=int64, shape=(2)}
"""
THROUGH = "s1 = Serialize%s(i, v, s) {T=float32, out_type=%s}\nd = Deserialize%s(s1) {dtype=float32%s}\n"
MAPPED = """
    a = %s(i, v, s) {T=float32, container="", shared_name="kept"}
    t = TakeManySparseFromTensorsMap(a) {dtype=float32, container="", shared_name="kept"}
"""
PACKED_ONE = """
    a1 = AddSparseToTensorsMap(i, v, s) {T=float32, container="", shared_name="kept"}
    a2 = AddSparseToTensorsMap(i, v, s) {T=float32, container="", shared_name="kept"}
    a = Pack(a1, a2) {T=int64, N=2, axis=0}
    t = TakeManySparseFromTensorsMap(a) {dtype=float32, container="", shared_name="kept"}
"""
PARTS = ["d:0", "d:1", "d:2"]
TAKEN = ["t:0", "t:1", "t:2"]


def feeds(parts):
    return dict(zip("ivs", parts, strict=True))


CASES = [
    *(case("SerializeTensor", array) for array in KINDS),
    case("ParseTensor", written(numbers(2, 3), "float32"), out_type=DType.parse("float32")),
    case("ParseTensor", written(i64(1, 2), "int64"), out_type=DType.parse("int64")),
    case("ParseTensor", written(strings("a", "b"), "string"), out_type=DType.parse("string")),
    case(
        "ParseTensor",
        one(b"\x08\x07\x12\x04\x12\x02\x08\x02\x22\x05\x02\x01abc"),
        out_type=DType.parse("string"),
    ),
    case("ParseTensor", one(LISTED.SerializeToString()), out_type=DType.parse("float32")),
    case("ParseTensor", written(f16(1), "float16"), out_type=DType.parse("float16")),
    case("ParseTensor", written(f32(1), "float32"), out_type=DType.parse("int32"), fails=True),
    case("ParseTensor", one(b"nonsense"), out_type=DType.parse("int32"), fails=True),
    case("ParseTensor", one(BAD.SerializeToString()), out_type=DType.parse("float32"), fails=True),
    case("ParseTensor", strings("a"), out_type=DType.parse("float32"), fails=True),
    case("SerializeSparse", *A),
    case("SerializeSparse", *WORDS),
    case("SerializeSparse", *EMPTY),
    case("SerializeSparse", i64(0, 1), f32(1), i64(3), fails=True),
    case("SerializeManySparse", *A),
    case("SerializeManySparse", *WORDS),
    case("SerializeManySparse", *EMPTY),
    case("SerializeManySparse", *UNSORTED, fails=True),
    case("SerializeManySparse", i64([0]), f32(1), i64(3), fails=True),
    *(
        graph_case(MANY + THROUGH % (name, kind, back, more), fetches=PARTS, **feeds(parts))
        for name, back in (("Sparse", "Sparse"), ("ManySparse", "Sparse"), ("ManySparse", "ManySparse"))
        for kind, more in (("string", ""), ("variant", ", Tserialized=variant"))
        for parts in (A, EMPTY)
        if back != "ManySparse" or kind == "string"
    ),
    case("DeserializeSparse", strings("a", "b"), dtype=DType.parse("float32"), fails=True),
    case("DeserializeSparse", strings("a", "b", "c"), dtype=DType.parse("float32"), fails=True),
    case("DeserializeManySparse", strings("a", "b", "c"), dtype=DType.parse("float32"), fails=True),
    graph_case(MANY + MAPPED % "AddManySparseToTensorsMap", fetches=TAKEN, **feeds(A)),
    graph_case(MANY + PACKED_ONE, fetches=TAKEN, **feeds(A)),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_serialized(c, ways):
    check("serialized", c, ways)
