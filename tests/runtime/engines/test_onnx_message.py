"""Messages of ONNX Runtime name the node, and no file of its source."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

from tfport.errors import RunFailed
from tfport.runtime.engines.onnx_runtime import node_message

RUN = "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Reshape node. "
LOCATION = (
    "/onnxruntime_src/onnxruntime/core/providers/cpu/tensor/reshape_helper.h:91 onnxruntime::ReshapeHelper"
    "::ReshapeHelper(const onnxruntime::TensorShape&, bool) input_size == requested_size was false. "
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            f"{RUN}Name:'Reshape:a/b#37' Status Message: {LOCATION}The input tensor cannot be reshaped.",
            "`a/b` (Reshape): The input tensor cannot be reshaped.",
        ),
        (
            f"{RUN}Name:'Reshape:a/b#37' Status Message: Got:{{2}}. batch_size=1",
            "`a/b` (Reshape): Got:{2}. batch_size=1",
        ),
        (
            f"{RUN}Name:'Reshape:a/b#37' Status Message: {LOCATION}",
            f"`a/b` (Reshape): {LOCATION}",
        ),
        (
            "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : other",
            "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : other",
        ),
    ],
)
def test_a_message_names_its_node(message, expected):
    assert node_message(message) == expected


RANDOM = """
    x = Placeholder() {dtype=float32, shape=(?, 2)}
    two = Const() {dtype=int32, value=int32(1)[2]}
    noise = RandomUniform(two) {T=int32, dtype=float32, seed=1, seed2=2}
    sum = AddV2(x, noise) {T=float32}
    lines = Const() {dtype=int32, value=int32(2)[5, 3]}
    y = Reshape(sum, lines) {T=float32, Tshape=int32}
"""


def test_an_error_of_a_run_that_the_host_does_not_repeat_names_its_node():
    with pytest.raises(RunFailed, match=r"^`y` \(Reshape\): The input tensor cannot be reshaped"):
        session_of(RANDOM).run("y:0", {"x:0": np.zeros((2, 2), np.float32)})


REVERSED = """
    x = Placeholder() {dtype=float32, shape=(?, ?)}
    lengths = Placeholder() {dtype=int32, shape=(?)}
    y = ReverseSequence(x, lengths) {T=float32, Tlen=int32, batch_dim=0, seq_dim=1}
"""


def test_ranks_that_no_engine_takes_are_an_error_of_the_op():
    x, lengths = np.ones((1, 3), np.float32), np.array([2], np.int32)
    session, feeds = session_of(REVERSED), {"x:0": x, "lengths:0": lengths}
    assert session.run("y:0", feeds, any_shape=True).tolist() == [[1, 1, 1]]
    with pytest.raises(RunFailed, match=r"^`y` \(ReverseSequence\): "):
        session.run("y:0", feeds | {"lengths:0": lengths[None]}, any_shape=True)
