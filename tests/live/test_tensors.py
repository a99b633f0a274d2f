"""TensorProtos of every type, between TensorFlow and tfport."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto

from tfport.formats.encoding.tensor import NUMPY, from_numpy, to_numpy, type_name
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
