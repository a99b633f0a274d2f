"""The record of the newest release matches the installed TensorFlow."""

import platform

import pytest

from tfport.atlas.atlas import atlas
from tfport.atlas.known_ops import known_ops
from tfport.formats.proto.graph_pb2 import OpDef, OpList
from tfport.formats.proto.kernel_pb2 import KernelList
from tfport.registry.kernels import kernels_from

tf = pytest.importorskip("tensorflow")
NEWEST = known_ops().recorded()[-1]
pytestmark = pytest.mark.skipif(tf.__version__ != NEWEST, reason=f"the newest record is of {NEWEST}")


@pytest.fixture(scope="module")
def recorded():
    return atlas().source(atlas().find("tensorflow", NEWEST, platform.machine()))


@pytest.fixture(scope="module")
def ops() -> dict[str, OpDef]:
    """Return what the installed TensorFlow registers."""
    from tensorflow.python.client import pywrap_tf_session as tf_session

    listed = OpList.FromString(tf_session.TF_GetBuffer(tf_session.TF_GetAllOpList())).op
    return {op.name: without_prose(op) for op in listed}


def without_prose(op: OpDef) -> OpDef:
    for part in (op, *op.input_arg, *op.output_arg, *op.attr):
        part.description = ""
    op.summary = ""
    return op


def test_every_registered_op_is_recorded_as_it_is(ops, recorded):
    # earlier tests may have loaded the wheel's op library
    assert set(recorded.ops()) <= set(ops)
    assert [name for name, op in ops.items() if known_ops().get(name) != op] == []
    assert [name for name in recorded.ops() if recorded.definition(name) != ops[name]] == []


def test_every_registered_kernel_is_recorded(ops, recorded):
    from tensorflow.python.framework import kernels

    listed = KernelList.FromString(kernels.get_all_registered_kernels().SerializeToString())
    own = set(recorded.ops())  # Python also loads an op library of the wheel, which is recorded separately
    there = plain(kernel for kernel in kernels_from(listed.kernel) if kernel.op in own)
    ours = plain(kernel for op in recorded.ops() for kernel in recorded.kernels(op))
    assert there - ours == set()
    assert ours - there == set()


def plain(kernels):
    """Return kernels as text, without those of XLA, which are registered on first compilation."""
    return {repr(kernel) for kernel in kernels if not kernel.device.startswith("XLA_")}
