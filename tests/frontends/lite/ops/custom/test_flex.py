"""TensorFlow's own ops: Flex ops, and custom ops by the name of an op."""

import numpy as np
import pytest
from flatbuffers import flexbuffers
from tests.frontends.lite.cases import case, check, checks, const, graph_case, out, run
from tests.frontends.lite.graphs import graph, lite_file, op
from tests.runtime.cases import f32, numbers, scalar, strings

import tfport
from tfport.formats.lite.write import lite_bytes
from tfport.formats.proto.graph_pb2 import NodeDef
from tfport.graph.attrs import encode
from tfport.graph.dtypes import FLOAT32


def _custom(name, *inputs, outputs=("FLOAT32",), rtol=None, **options):
    stored = bytes(flexbuffers.Dumps(options))
    kinds = [out(kind) for kind in outputs]
    return case("CUSTOM", *inputs, custom=name, custom_options=stored, outputs=kinds, rtol=rtol)


SPECTRUM = np.abs(numbers(1, 5, 129))
CASES = [
    _custom("AudioSpectrogram", numbers(400, 2), window_size=256, stride=64, magnitude_squared=True),
    _custom("AudioSpectrogram", numbers(300, 1), window_size=100, stride=50, magnitude_squared=False),
    _custom(
        "Mfcc",
        SPECTRUM,
        const(scalar(16000)),
        upper_frequency_limit=4000.0,
        lower_frequency_limit=20.0,
        filterbank_channel_count=40,
        dct_coefficient_count=13,
        rtol=1e-4,
    ),
]
TYPE_AMONG_OPTIONS = _custom("Sinh", f32(0, 1), T=0)
"""Converters store the types of tensors too, as numbers that mean nothing here."""


@pytest.mark.parametrize("c", checks(CASES))
def test_flex(c):
    check("flex", c)


def _flex(name, attrs):
    """The custom options of a Flex op."""
    record = NodeDef(op=name, name="node")
    for key, value in attrs.items():
        record.attr[key].CopyFrom(encode(value))
    return bytes(flexbuffers.Dumps([name, record.SerializeToString()]))


@pytest.mark.parametrize("way", ["engine", "host"])
def test_a_flex_op_is_the_op_of_tensorflow(way):
    joined = op("FlexStringJoin", "a b", "y", _flex("StringJoin", {"N": 2, "separator": "/"}))
    file = lite_file(graph("a b -> y", joined, a="STRING 2", b="STRING 2", y="STRING 2"))
    (answer,) = run(graph_case("CUSTOM", file, strings("a", "b"), strings("c", "d")), way)
    assert answer.tolist() == [b"a/c", b"b/d"]


def test_types_among_the_options_are_those_of_the_tensors():
    (answer,) = run(TYPE_AMONG_OPTIONS, "engine")
    np.testing.assert_allclose(answer, np.sinh(f32(0, 1)), 1e-6)


def test_a_node_def_with_numbers_that_are_not_text():
    """A negative number has bytes that are not UTF-8."""
    cumulated = op("FlexErfinv", "x", "y", _flex("Erfinv", {"T": FLOAT32, "_unknown": -1}))
    file = lite_file(graph("x -> y", cumulated, x="FLOAT32 2", y="FLOAT32 2"))
    (answer,) = run(graph_case("CUSTOM", file, f32(0, 0.5)), "engine")
    np.testing.assert_allclose(answer, [0, 0.47693628], 1e-5)


@pytest.mark.parametrize("options", [b"", b"\0\0\0", _flex("Relu", {}), bytes(flexbuffers.Dumps([1, 2]))])
def test_options_without_a_node_def_are_refused(options):
    file = lite_file(graph("x -> y", op("FlexErfinv", "x", "y", options), x="FLOAT32 2", y="FLOAT32 2"))
    assert tfport.load(lite_bytes(file)).no_graph


def test_a_custom_op_of_the_program():
    registry = tfport.Registry()
    registry.op("AcmeScale: (x: float) -> (y: float); by: float; times: int = 1")

    @registry.kernel("AcmeScale")
    def scale(x, *, by, times):
        return x * np.float32(by * times)

    options = bytes(flexbuffers.Dumps({"by": 2.5, "unused": "text"}))
    file = lite_file(graph("x -> y", op("AcmeScale", "x", "y", options), x="FLOAT32 2", y="FLOAT32 2"))
    data = lite_bytes(file)
    assert "the custom op AcmeScale for float32 is not supported" in tfport.load(data).no_graph
    session = tfport.Session(tfport.load(data, registry=registry), registry=registry)
    signature = session.model.signatures["serving_default"]
    (answer,) = session.run(
        [signature.outputs["y"].tensors[0]], {signature.inputs["x"].tensors[0]: f32(1, 2)}
    )
    assert answer.tolist() == [2.5, 5.0]
