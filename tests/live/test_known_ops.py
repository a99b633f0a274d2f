"""The newest recorded definitions are those of the installed TensorFlow."""

import pytest

from tfport.atlas.known_ops import known_ops
from tfport.formats.proto.graph_pb2 import OpDef, OpList

tf = pytest.importorskip("tensorflow")
*_, NEWEST = known_ops().recorded()
pytestmark = pytest.mark.skipif(tf.__version__ != NEWEST, reason=f"the newest record is of {NEWEST}")


def registered() -> list[OpDef]:
    """What the installed TensorFlow registers."""
    from tensorflow.python.client import pywrap_tf_session as tf_session

    return list(OpList.FromString(tf_session.TF_GetBuffer(tf_session.TF_GetAllOpList())).op)


def without_prose(op: OpDef) -> OpDef:
    for part in (op, *op.input_arg, *op.output_arg, *op.attr):
        part.description = ""
    op.summary = ""
    return op


def test_every_registered_op_is_recorded_as_it_is():
    ops = registered()
    assert len(ops) >= known_ops().recorded()[NEWEST]
    assert [op.name for op in ops if known_ops().get(op.name) != without_prose(op)] == []
