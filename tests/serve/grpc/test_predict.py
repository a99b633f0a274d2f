"""Predict over a real port: every element type, the choice of a version, errors."""

from __future__ import annotations

import numpy as np
import pytest
from tests.serve.grpc.server import TYPES, Port, examples_model, tensor, with_port

from tfport.formats.proto import graph_pb2
from tfport.runtime.session import Session
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.servable import Servable
from tfport.serve.status import StatusCode

VALUES = {
    "bool": [[True, False]],
    "string": [[b"a", b"\xff\x00"]],
    "complex64": [[1 + 2j, -1j]],
    "complex128": [[1 + 2j, -1j]],
    "uint64": [[0, 2**64 - 1]],
    "int64": [[-(2**63), 300]],
    "int8": [[-128, 127]],
}
X = {"x": tensor("float32", [2.0, 4.0])}
HALF = {"model_spec": {"name": "half"}, "inputs": X}
A = tensor("float32", [[1.0, 2.0]])
B = tensor("int64", [3])


@pytest.mark.parametrize("content", [False, True], ids=["typed", "content"])
@pytest.mark.parametrize("kind", TYPES)
def test_every_type_comes_back(kind, content):
    sent = tensor(kind, VALUES.get(kind, [[1, 2]]))

    async def test(port: Port) -> None:
        request = {"model_spec": {"name": "echo", "signature_name": kind}, "inputs": {"x": sent}}
        answer = (await port.ask("Predict", request)).outputs["y"]
        assert (answer.dtype, answer.tensor_shape) == (sent.dtype, sent.tensor_shape)
        assert bool(answer.tensor_content) == (content and kind != "string")
        if content or kind == "string":
            assert answer == sent

    with_port(test, GrpcOptions(tensor_content=content))


def test_elements_are_in_the_typed_fields_that_clients_read():
    async def test(port: Port) -> None:
        answer = await port.ask("Predict", HALF)
        assert list(answer.outputs["y"].float_val) == [3.0, 4.0]

    with_port(test)


CHOICES = [  # model spec   answer for 2.0, version in the response
    ({}, 3.0, 2),
    ({"version": {"value": 1}}, 2.0, 1),
    ({"version": {"value": 2}}, 3.0, 2),
    ({"version_label": "stable"}, 2.0, 1),
    ({"signature_name": "serving_default"}, 3.0, 2),
]


@pytest.mark.parametrize(("choice", "expected", "version"), CHOICES, ids=str)
def test_the_version_is_selected_and_returned(choice, expected, version):
    async def test(port: Port) -> None:
        answer = await port.ask("Predict", {"model_spec": {"name": "half", **choice}, "inputs": X})
        assert answer.outputs["y"].float_val[0] == expected
        spec = answer.model_spec
        assert (spec.name, spec.version.value, spec.signature_name) == ("half", version, "serving_default")

    with_port(test)


def test_only_the_outputs_of_the_filter_are_sent():
    async def test(port: Port) -> None:
        assert set(await port.predict("pair", {"a": A, "b": B})) == {"doubled", "next"}
        assert set(await port.predict("pair", {"a": A, "b": B}, output_filter=["next"])) == {"next"}

    with_port(test)


def test_an_input_with_a_default_may_be_left_out():
    async def test(port: Port) -> None:
        outputs = await port.predict("default", {"a": A})
        np.testing.assert_array_equal(outputs["next"], [10])

    with_port(test)


def spec(name: str, **more: object) -> dict[str, object]:
    return {"name": name, **more}


def short(shape: list[int], values: int) -> graph_pb2.TensorProto:
    """A tensor whose shape has more elements than it contains."""
    out = graph_pb2.TensorProto(dtype=1, float_val=[1.0] * values)
    for size in shape:
        out.tensor_shape.dim.add(size=size)
    return out


def content(shape: list[int], data: bytes) -> graph_pb2.TensorProto:
    out = short(shape, 0)
    out.tensor_content = data
    return out


BAD = StatusCode.INVALID_ARGUMENT
REFUSED = [
    ({}, BAD, "Missing ModelSpec"),
    ({"model_spec": {}}, BAD, "ModelSpec has no name specified."),
    ({"model_spec": spec("none")}, StatusCode.NOT_FOUND, "Servable not found for request: Latest(none)"),
    (
        {"model_spec": spec("half", version={"value": 9})},
        StatusCode.NOT_FOUND,
        "Servable not found for request: Specific(half, 9)",
    ),
    ({"model_spec": spec("half", version_label="x")}, BAD, "Unrecognized servable version label: x"),
    ({"model_spec": spec("half", version_label="")}, BAD, "Unrecognized servable version label: "),
    (
        {"model_spec": spec("half", signature_name="x")},
        StatusCode.FAILED_PRECONDITION,
        'Serving signature key "x" not found.',
    ),
    (
        {"model_spec": spec("half")},
        BAD,
        "input size does not match signature: 0!=1 len({}) != len({x}). Sent extra: {}. "
        "Missing but required: {x}.",
    ),
    (
        {"model_spec": spec("half"), "inputs": {"x": A, "z": A}},
        BAD,
        "input size does not match signature: 2!=1 len({x,z}) != len({x}). Sent extra: {z}. "
        "Missing but required: {}.",
    ),
    (
        {"model_spec": spec("half"), "inputs": {"z": A}},
        BAD,
        "Signature input alias: x(feed name: x:0) not found in request and no default value provided. "
        "Inputs expected to be in the request {z}, or default input alias set: ",
    ),
    (
        {"model_spec": spec("default"), "inputs": {"a": A, "z": A}},
        BAD,
        "Inputs contains invalid name. Used request inputs: a, request input: a,z",
    ),
    (
        {**HALF, "output_filter": ["z"]},
        BAD,
        "output tensor alias not found in signature: z Outputs expected to be in the set {y}.",
    ),
    ({**HALF, "output_filter": ["y", "y"]}, BAD, "duplicate output tensor alias: y"),
    (
        {"model_spec": spec("half"), "inputs": {"x": tensor("float64", [1.0])}},
        BAD,
        "Expects arg[0] to be float but double is provided",
    ),
    (
        {"model_spec": spec("pair"), "inputs": {"a": A, "b": tensor("int32", [1])}},
        BAD,
        "Expects arg[1] to be int64 but int32 is provided",
    ),
    (
        {"model_spec": spec("half"), "inputs": {"x": graph_pb2.TensorProto()}},
        BAD,
        "tensor parsing error: x: tensors of type DT_INVALID cannot be sent",
    ),
    (
        {"model_spec": spec("half"), "inputs": {"x": graph_pb2.TensorProto(dtype=20)}},
        BAD,
        "tensor parsing error: x: tensors of type DT_RESOURCE cannot be sent",
    ),
    (
        {"model_spec": spec("half"), "inputs": {"x": short([2**40], 1)}},
        BAD,
        "tensor parsing error: x: a DT_FLOAT tensor of shape [1099511627776] has only 1 elements",
    ),
    (
        {"model_spec": spec("half"), "inputs": {"x": short([-1], 1)}},
        BAD,
        "tensor parsing error: x: invalid shape [-1] of a DT_FLOAT tensor",
    ),
    (
        {"model_spec": spec("half"), "inputs": {"x": content([2], b"1234")}},
        BAD,
        "tensor parsing error: x: 4 bytes do not fit a DT_FLOAT tensor of shape [2]",
    ),
    (
        {"model_spec": spec("half"), "inputs": {"x": content([1], b"12345")}},
        BAD,
        "tensor parsing error: x: 5 bytes are not a whole number of float32 elements",
    ),
    (
        {"model_spec": spec("buggy"), "inputs": X},
        StatusCode.INTERNAL,
        "Predict failed; see the server's log",
    ),
    (b"\xff\xff", BAD, "cannot parse 2 bytes as PredictRequest"),
]


def test_bad_requests_are_rejected_with_a_message():
    async def test(port: Port) -> None:
        for request, code, message in REFUSED:
            assert await port.refusal("Predict", request) == (code, message)

    with_port(test)


def test_a_short_list_is_filled_with_its_last_element():
    async def test(port: Port) -> None:
        outputs = await port.predict("half", {"x": short([4], 1)})
        np.testing.assert_array_equal(outputs["y"], [2.5] * 4)

    with_port(test)


def test_the_end_of_a_list_that_is_too_long_is_ignored():
    async def test(port: Port) -> None:
        outputs = await port.predict("half", {"x": short([1], 2)})
        np.testing.assert_array_equal(outputs["y"], [2.5])

    with_port(test)


def test_a_sparse_output_has_no_place_in_a_response():
    parts = ("int64", [[0, 1]]), ("float32", [2.0]), ("int64", [1, 2])
    inputs = dict(zip(("args_0", "args_0_1", "args_0_2"), (tensor(*part) for part in parts), strict=True))

    async def test(port: Port) -> None:
        request = {"model_spec": {"name": "sparse"}, "inputs": inputs}
        assert await port.refusal("Predict", request) == (
            BAD,
            "`scaled` is sparse (3 tensors); Predict supports dense tensors only",
        )
        outputs = await port.predict("sparse", inputs, output_filter=["dense"])
        np.testing.assert_array_equal(outputs["dense"], [[0, 2]])

    with_port(test)


def test_a_long_error_is_cut():
    async def test(port: Port) -> None:
        request = {**HALF, "output_filter": ["z" * 5000]}
        _, message = await port.refusal("Predict", request)
        assert len(message) == 1024 + len("...TRUNCATED")
        assert message.endswith("z...TRUNCATED")

    with_port(test)


def test_the_method_name_is_checked_if_enabled():
    async def test(port: Port) -> None:
        assert await port.predict("half", X)
        session = Session(examples_model("other"))
        port.catalog.publish(Servable("odd", 1, session, port.gate.runner))
        assert await port.refusal("Predict", {"model_spec": {"name": "odd"}}) == (
            StatusCode.INTERNAL,
            "Expected prediction signature method_name to be one of {tensorflow/serving/predict, "
            "tensorflow/serving/classify, tensorflow/serving/regress}. Was: other",
        )

    with_port(test, GrpcOptions(check_method=True))
