import weakref

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfport.errors import Error
from tfport.formats.checkpoint.read import open_checkpoint
from tfport.formats.checkpoint.write import BundleTensor, write_bundle
from tfport.formats.encoding.tensor import NUMPY, type_name
from tfport.formats.files import Folder
from tfport.formats.proto import graph_pb2 as pb

ROWS = np.arange(12, dtype=np.float32).reshape(6, 2)
ONE = np.ones(1, np.float32)
# unused bits of types smaller than a byte are ignored
BITS = {"int4": 15, "uint4": 15, "int2": 3, "uint2": 3, "float4_e2m1fn": 15, "bool": 1}
SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)
in_tmp_path = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def read_back(tmp_path, tensors):
    write_bundle(tmp_path / "m", tensors)
    return open_checkpoint(Folder(tmp_path), "m")


@pytest.mark.parametrize("dtype", [n for n in NUMPY if n != pb.DT_STRING], ids=type_name)
@in_tmp_path
@given(shape=SHAPES, data=st.data())
def test_numbers_of_every_type_survive_a_round_trip(dtype, shape, data, tmp_path):
    kind = NUMPY[dtype]
    size = int(np.prod(shape)) * kind.itemsize
    raw = np.frombuffer(data.draw(st.binary(min_size=size, max_size=size)), np.uint8) & BITS.get(
        kind.name, 255
    )
    array = raw.view(kind).reshape(shape)
    checkpoint = read_back(tmp_path, {"t": (array, dtype)})
    read = checkpoint.read("t")
    assert (checkpoint.entry("t").dtype, read.dtype, read.shape) == (dtype, kind, shape)
    assert read.tobytes() == array.tobytes()  # bit by bit, as NaN is not equal to itself


@in_tmp_path
@given(shape=SHAPES, data=st.data())
def test_strings_survive_a_round_trip(shape, data, tmp_path):
    count = int(np.prod(shape))
    texts = data.draw(st.lists(st.binary(max_size=200), min_size=count, max_size=count))
    array = np.empty(count, object)
    array[:] = texts
    read = read_back(tmp_path, {"t": (array.reshape(shape), pb.DT_STRING)}).read("t")
    assert (read.shape, read.ravel().tolist()) == (shape, texts)


@in_tmp_path
@given(names=st.sets(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)))
def test_names_survive_a_round_trip(names, tmp_path):
    assert read_back(tmp_path, dict.fromkeys(names, (ONE, pb.DT_FLOAT))).names() == sorted(names)


@pytest.mark.parametrize(
    "array",
    [ROWS.T, ROWS[::2, ::-1], ROWS.astype(">f4"), np.broadcast_to(ONE, (3, 2))],
    ids=["transposed", "strided", "big endian", "broadcast"],
)
def test_arrays_may_have_any_memory_layout(array, tmp_path):
    np.testing.assert_array_equal(read_back(tmp_path, {"t": (array, pb.DT_FLOAT)}).read("t"), array)


def test_strings_may_be_text_or_numpy_strings(tmp_path):
    tensors = {
        "text": np.array(["é", b"b"], object),
        "bytes": np.array([b"ab", b"c"]),
        "str": np.array(["é"]),
    }
    checkpoint = read_back(tmp_path, {name: (array, pb.DT_STRING) for name, array in tensors.items()})
    assert [checkpoint.read(name).tolist() for name in tensors] == [
        ["é".encode(), b"b"],
        [b"ab", b"c"],
        ["é".encode()],
    ]


def test_slices_are_joined_to_a_tensor(tmp_path):
    parts = [((0, 4), (0, -1)), ((4, 2), (0, -1))]
    tensors = [
        ("p", BundleTensor(ROWS[at : at + n], pb.DT_FLOAT, part, (6, 2)))
        for part in parts
        for at, n in part[:1]
    ]
    checkpoint = read_back(tmp_path, tensors)
    assert checkpoint.slices("p") == parts
    np.testing.assert_array_equal(checkpoint.read("p"), ROWS)
    np.testing.assert_array_equal(checkpoint.read_slice("p", ((4, 2), (0, 2))), ROWS[4:])


def test_a_slice_of_the_whole_tensor_is_stored_without_slices(tmp_path):
    checkpoint = read_back(tmp_path, {"p": BundleTensor(ROWS, pb.DT_FLOAT, ((0, -1), (0, 2)), (6, 2))})
    assert checkpoint.slices("p") == []


def test_written_tensors_are_released(tmp_path):
    alive = []

    def tensors():
        for n in range(4):
            assert sum(ref() is not None for ref in alive) <= 1
            array = np.full(1000, n, np.float32)
            alive.append(weakref.ref(array))
            yield f"t{n}", (array, pb.DT_FLOAT)

    assert read_back(tmp_path, tensors()).read("t3")[0] == 3


REFUSED = [  # tensors, error
    ([("", (ONE, 1))], "a tensor cannot be named ''"),
    ([("\0x", (ONE, 1))], "a tensor cannot be named '\\x00x'"),
    ([("a", (ONE, 1)), ("a", (ONE, 1))], "tensor a: passed twice"),
    ([("a", (ONE, 3))], "tensor a: expected an array of int32 for DT_INT32, found float32"),
    ([("a", (ONE, pb.DT_VARIANT))], "tensor a: cannot write elements of type DT_VARIANT"),
    ([("a", (np.array([None]), pb.DT_STRING))], "tensor a: expected bytes or str, found NoneType"),
    ([("a", (ONE, 1, ((0, 2),), (3,)))], "tensor a: slice 0,2 does not fit an array of shape [1]"),
    ([("a", (ONE, 1, ((3, 1),), (3,)))], "tensor a: slice 3,1 is not within shape [3]"),
    (
        [("a", (ONE, 1)), ("a", (ONE, 1, ((0, 1),), (3,)))],
        "tensor a: passed twice, with different types or shapes",
    ),
    ([("a", (ONE, 1, ((0, 1),), (3,)))] * 2, "tensor a: passed twice"),
]


@pytest.mark.parametrize(("tensors", "sentence"), REFUSED)
def test_an_invalid_tensor_is_refused_and_leaves_nothing(tensors, sentence, tmp_path):
    with pytest.raises(Error) as raised:
        write_bundle(tmp_path / "m", tensors)
    assert str(raised.value) == sentence
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_existing_checkpoint(tmp_path):
    write_bundle(tmp_path / "m", {"a": (ONE, pb.DT_FLOAT)})

    def tensors():
        yield "b", (ONE, pb.DT_FLOAT)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_bundle(tmp_path / "m", tensors())
    assert open_checkpoint(Folder(tmp_path), "m").names() == ["a"]
    assert len(list(tmp_path.iterdir())) == 2
