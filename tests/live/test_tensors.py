"""TensorProtos of every type, between TensorFlow and tfport."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto

import tfport
from tfport.errors import UnreadableFile
from tfport.formats.encoding.tensor import NUMPY, TYPED_LIST, from_numpy, to_numpy, type_name
from tfport.formats.proto import graph_pb2 as pb

# numpy has no quantized types; TensorFlow's Python API writes no protos of float8 types without minus zero
WITHOUT = ("DT_Q", "DT_FLOAT8_E4M3FNUZ", "DT_FLOAT8_E4M3B11FNUZ", "DT_FLOAT8_E5M2FNUZ")
TYPES = [number for number in NUMPY if not type_name(number).startswith(WITHOUT)]


def elements(number, count):
    if number == pb.DT_STRING:
        return np.array([b"", b"\xff\0", b"a" * 300][:count], object)
    return np.array([0, 1, 1][:count]).astype(NUMPY[number])


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("number", TYPES, ids=type_name)
def test_both_read_what_the_other_writes(number, count):
    array = elements(number, count)
    theirs = tf.make_tensor_proto(array, dtype=tf.dtypes.as_dtype(number), shape=array.shape)
    assert to_numpy(pb.TensorProto.FromString(theirs.SerializeToString())).tolist() == array.tolist()
    ours = TensorProto.FromString(from_numpy(array, number).SerializeToString())
    assert tf.make_ndarray(ours).tolist() == array.tolist()


@pytest.mark.parametrize("number", TYPES, ids=type_name)
def test_a_constant_of_a_graph_is_read_unchanged(number):
    """C++ writes tensors in its own encodings: a repeated end is omitted."""
    array = np.repeat(elements(number, 2)[1:], 64)
    with tf.Graph().as_default() as graph:
        tf.constant(array, dtype=tf.dtypes.as_dtype(number), name="c")
    stored = graph.as_graph_def().node[0].attr["value"].tensor
    assert to_numpy(pb.TensorProto.FromString(stored.SerializeToString())).tolist() == array.tolist()


@pytest.mark.parametrize("number", [pb.DT_STRING, pb.DT_FLOAT, pb.DT_COMPLEX64], ids=type_name)
def test_both_ignore_the_elements_of_a_tensor_that_has_none(number):
    stored = from_numpy(elements(number, 1), number)
    del stored.tensor_shape.dim[:]
    for size in (0, 1, 2):
        stored.tensor_shape.dim.add(size=size)
    with tf.Graph().as_default() as graph:
        node = graph.as_graph_def().node.add(name="c", op="Const")
        node.attr["dtype"].type = number
        node.attr["value"].tensor.ParseFromString(stored.SerializeToString())
        definition = tf.compat.v1.GraphDef(node=[node])
        (constant,) = tf.import_graph_def(definition, return_elements=["c:0"], name="")
        with tf.compat.v1.Session() as session:
            theirs = session.run(constant)
    ours = to_numpy(stored)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)


LISTS = [number for number in TYPES if TYPED_LIST[number] != "float8_val"]


@pytest.mark.parametrize("sizes", [(), (2,), (1, 2)], ids=str)
@pytest.mark.parametrize("number", LISTS, ids=type_name)
def test_both_ignore_the_end_of_a_list_that_is_too_long(number, sizes):
    stored = pb.TensorProto(dtype=number)
    stored.tensor_shape.SetInParent()
    for size in sizes:
        stored.tensor_shape.dim.add(size=size)
    values = [b"a", b"b", b"c"] if number == pb.DT_STRING else [1, 0, 1]
    getattr(stored, TYPED_LIST[number]).extend(values * (2 if "COMPLEX" in type_name(number) else 1))
    definition = tf.compat.v1.GraphDef()
    node = definition.node.add(name="c", op="Const")
    node.attr["dtype"].type = number
    node.attr["value"].tensor.ParseFromString(stored.SerializeToString())
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        (constant,) = tf.import_graph_def(definition, return_elements=["c:0"], name="")
        theirs = np.asarray(session.run(constant))
    assert to_numpy(stored).tolist() == theirs.tolist()


@pytest.mark.parametrize("count", [1, 3])
def test_both_refuse_raw_bytes_of_another_size(count):
    stored = pb.TensorProto(dtype=pb.DT_FLOAT, tensor_content=bytes(4 * count))
    stored.tensor_shape.dim.add(size=2)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.parse_tensor(stored.SerializeToString(), tf.float32)
    with pytest.raises(UnreadableFile, match="must have 2 elements"):
        to_numpy(stored)


NO_STRINGS = [[1], [1.5], [True], np.array([1, "a"], object), np.array([None], object), [1.5, "b"]]


@pytest.mark.parametrize("value", [*NO_STRINGS, ["a", b"b"], np.array(["é"]), []], ids=repr)
def test_both_accept_only_text_and_bytes_for_strings(value):
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.string, [None], name="x")
        y = tf.identity(x, name="y")
        try:
            theirs = session.run(y, {x: value}).tolist()
        except tf.errors.InternalError:
            theirs = None
    ours = tfport.Session(tfport.load(graph.as_graph_def().SerializeToString()))
    if theirs is None:
        with pytest.raises(tfport.Error, match="`x:0` must be string: text or bytes, got the"):
            ours.run(["y:0"], {"x:0": value})
    else:
        assert ours.run(["y:0"], {"x:0": value})[0].tolist() == theirs
