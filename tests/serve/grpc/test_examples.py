"""Classify, Regress and MultiInference over a real port, and results of unusual models."""

from __future__ import annotations

import numpy as np
import pytest
from tests.serve.grpc.server import Port, example, examples, examples_model, with_port

from tfport.formats.proto import serving_pb2 as pb
from tfport.formats.saved_model.warmup import CLASSIFY, REGRESS
from tfport.runtime.session import Session
from tfport.serve.classify import classes_of, classify, examples_tensor, input_tensor, regress, regressions_of
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.servable import Servable
from tfport.serve.status import StatusCode, StatusError

BAD = StatusCode.INVALID_ARGUMENT
TWO = examples(example(x=1.5), example())
LABELS, SCORES = ["1.500000", "7.000000"], [1.5, 7.0]


def request(signature: str = "", inputs: pb.Input = TWO, name: str = "examples") -> dict[str, object]:
    return {"model_spec": {"name": name, "signature_name": signature}, "input": inputs}


CLASSES = [
    ("", list(zip(LABELS, SCORES, strict=True))),
    ("only_scores", [("", score) for score in SCORES]),
    ("only_classes", [(label, 0.0) for label in LABELS]),
]


@pytest.mark.parametrize(("signature", "expected"), CLASSES)
def test_examples_are_classified(signature, expected):
    async def test(port: Port) -> None:
        answer = await port.ask("Classify", request(signature))
        classes = [[(c.label, c.score) for c in row.classes] for row in answer.result.classifications]
        assert classes == [[pair] for pair in expected]
        spec = answer.model_spec
        assert (spec.name, spec.version.value) == ("examples", 7)
        assert spec.signature_name == (signature or "serving_default")

    with_port(test)


def test_examples_are_regressed():
    async def test(port: Port) -> None:
        answer = await port.ask("Regress", request("regress"))
        assert [r.value for r in answer.result.regressions] == SCORES
        assert answer.model_spec.signature_name == "regress"

    with_port(test)


def test_a_context_holds_for_every_example():
    both = pb.ExampleListWithContext(examples=[example(), example(x=2.0)], context=example(x=9.0))

    async def test(port: Port) -> None:
        inputs = pb.Input(example_list_with_context=both)
        answer = await port.ask("Regress", request("regress", inputs))
        assert [r.value for r in answer.result.regressions] == [9.0, 2.0]
        assert input_tensor(inputs).tolist() == [
            both.context.SerializeToString() + example.SerializeToString() for example in both.examples
        ]

    with_port(test)


def task(signature: str, method: str, name: str = "examples") -> dict[str, object]:
    return {"model_spec": {"name": name, "signature_name": signature}, "method_name": method}


def test_several_signatures_answer_at_once():
    async def test(port: Port) -> None:
        tasks = [task("", CLASSIFY), task("regress", REGRESS)]
        first, second = (await port.ask("MultiInference", {"tasks": tasks, "input": TWO})).results
        assert [row.classes[0].label for row in first.classification_result.classifications] == LABELS
        assert [r.value for r in second.regression_result.regressions] == SCORES
        assert [r.model_spec.signature_name for r in (first, second)] == ["serving_default", "regress"]

    with_port(test)


REFUSED = [
    ("Classify", {}, BAD, "Missing ModelSpec"),
    ("Regress", {}, BAD, "Missing ModelSpec"),
    ("Classify", request(name="none"), StatusCode.NOT_FOUND, "Servable not found for request: Latest(none)"),
    ("Classify", request("x"), BAD, "No signature was found with the name: x"),
    ("Regress", request("x"), BAD, "No signature was found with the name: x"),
    ("Classify", request(inputs=pb.Input()), BAD, "Input is empty."),
    ("Classify", request(inputs=examples()), BAD, "Input is empty."),
    ("Classify", request("two_inputs"), BAD, "Expected one input Tensor."),
    ("Regress", request("two_inputs"), BAD, "Expected one input Tensor."),
    ("Classify", request("three_outputs"), BAD, "Expected one or two output Tensors, found 3"),
    ("Regress", request("three_outputs"), BAD, "Expected one output Tensor."),
    ("Classify", request("other_input"), BAD, "No classification inputs found in SignatureDef: inputs {"),
    ("Regress", request("other_input"), BAD, "No regression inputs found in SignatureDef: inputs {"),
    (
        "Classify",
        request("regress"),
        BAD,
        'Expected classification signature outputs to contain at least one of "classes" or "scores". '
        "Signature was: inputs {",
    ),
    ("Regress", request("other_output"), BAD, "No regression outputs found in SignatureDef: inputs {"),
    ("Classify", request("numbers"), BAD, "Expects arg[0] to be float but string is provided"),
    ("Regress", request("texts"), BAD, "Expected output Tensor of DT_FLOAT.  Got: DT_STRING"),
    ("MultiInference", {}, BAD, "ModelSpec has no name specified."),
    (
        "MultiInference",
        {"tasks": [task("", CLASSIFY), task("", CLASSIFY, "")]},
        BAD,
        "Found ModelSpec with an empty model name.",
    ),
    (
        "MultiInference",
        {"tasks": [task("", CLASSIFY), task("", CLASSIFY, "half")]},
        BAD,
        "All ModelSpecs in a MultiInferenceRequest must access the same model name.",
    ),
    (
        "MultiInference",
        {"tasks": [task("", CLASSIFY), task("serving_default", CLASSIFY)]},
        BAD,
        "Duplicate evaluation of signature: serving_default",
    ),
    (
        "MultiInference",
        {"tasks": [task("x", CLASSIFY)]},
        BAD,
        "Requested signature not found in model graph: x",
    ),
    (
        "MultiInference",
        {"tasks": [task("", "other")]},
        StatusCode.UNIMPLEMENTED,
        "Unsupported signature method_name: other",
    ),
    ("MultiInference", {"tasks": [task("", CLASSIFY)]}, BAD, "Input is empty."),
]


def test_bad_requests_get_tensorflow_serving_errors():
    async def test(port: Port) -> None:
        for name, asked, code, message in REFUSED:
            refusal = await port.refusal(name, asked)
            assert (refusal[0], refusal[1][: len(message)]) == (code, message)

    with_port(test)


def test_examples_that_are_none_are_the_model_s_to_refuse():
    async def test(port: Port) -> None:
        data = pb.ClassificationRequest(**request("", pb.Input())).SerializeToString()
        # field 2 (input), field 1 (example_list), field 1 (examples): three bytes that are not an Example
        code, _ = await port.refusal("Classify", data + b"\x12\x07\x0a\x05\x0a\x03\xff\xff\xff")
        assert code is BAD

    with_port(test)


def test_the_method_of_a_signature_is_checked_if_enabled():
    async def test(port: Port) -> None:
        runner = port.gate.runner
        port.catalog.publish(Servable("says", 1, Session(examples_model(CLASSIFY)), runner))
        assert await port.ask("Classify", request(name="says"))
        assert await port.refusal("Regress", request("regress", name="says")) == (
            BAD,
            "Expected regression signature method_name to be tensorflow/serving/regress. "
            "Was: tensorflow/serving/classify",
        )
        assert await port.refusal("Classify", request()) == (
            BAD,
            "Expected classification signature method_name to be tensorflow/serving/classify. "
            "Was: tensorflow/serving/predict",
        )

    with_port(test, GrpcOptions(check_method=True))


def test_the_functions_that_rest_calls():
    async def test(port: Port) -> None:
        servable = port.catalog.get("examples")
        tensor = examples_tensor([proto.SerializeToString() for proto in TWO.example_list.examples])
        assert await classify(servable, "", tensor) == [[pair] for pair in zip(LABELS, SCORES, strict=True)]
        assert await regress(servable, "regress", tensor) == SCORES

    with_port(test)


def texts(*shape: int) -> np.ndarray:
    return np.full(shape, b"a", object)


def floats(*shape: int, kind: str = "float32") -> np.ndarray:
    return np.zeros(shape, kind)


ODD_CLASSES = [
    ({"classes": texts(2)}, "Expected Tensor shape: [batch_size num_classes] but got [2]"),
    ({"scores": floats(2, 1, 1)}, "Expected Tensor shape: [batch_size num_classes] but got [2,1,1]"),
    ({"classes": floats(2, 1)}, "Expected classes Tensor of DT_STRING. Got: DT_FLOAT"),
    ({"scores": floats(2, 1, kind="float64")}, "Expected scores Tensor of DT_FLOAT. Got: DT_DOUBLE"),
    ({"classes": texts(3, 1)}, "Expected classes output batch size of 2. Got: 3"),
    ({"scores": floats(1, 1)}, "Expected scores output batch size of 2. Got: 1"),
    (
        {"classes": texts(2, 3), "scores": floats(2, 1)},
        "Tensors class and score should match in dim_size(1). Got 3 vs. 1",
    ),
]
ODD_REGRESSIONS = [
    (floats(), "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got []"),
    (floats(2, 2), "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got [2,2]"),
    (floats(3), "Input batch size did not match output batch size: 2 vs. 3"),
    (floats(2, kind="int64"), "Expected output Tensor of DT_FLOAT.  Got: DT_INT64"),
]


@pytest.mark.parametrize(("outputs", "message"), ODD_CLASSES)
def test_outputs_that_are_no_classes(outputs, message):
    with pytest.raises(StatusError) as refused:
        classes_of(outputs, 2)
    assert (refused.value.code, refused.value.message) == (BAD, message)


@pytest.mark.parametrize(("output", "message"), ODD_REGRESSIONS)
def test_an_output_that_is_no_regression(output, message):
    with pytest.raises(StatusError) as refused:
        regressions_of({"outputs": output}, 2)
    assert (refused.value.code, refused.value.message) == (BAD, message)


def test_a_label_that_is_no_text_is_shown_all_the_same():
    assert classes_of({"classes": np.array([[b"\xff"]], object)}, 1) == [[("\N{REPLACEMENT CHARACTER}", 0.0)]]
