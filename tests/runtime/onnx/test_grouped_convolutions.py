import pytest

from tfport.formats.proto import onnx_pb2
from tfport.runtime.onnx.grouped_convolutions import has_grouped_convolutions


@pytest.mark.parametrize(
    ("op", "group", "grouped"),
    [("Conv", 4, True), ("Conv", 1, False), ("Conv", None, False), ("ConvTranspose", 4, False)],
)
def test_a_convolution_in_groups_is_noticed(op, group, grouped):
    model = onnx_pb2.ModelProto()
    model.graph.node.add(op_type="Relu")
    node = model.graph.node.add(op_type=op)
    node.attribute.add(name="strides", ints=[2, 2])
    if group is not None:
        node.attribute.add(name="group", i=group)
    assert has_grouped_convolutions(model.SerializeToString()) is grouped
