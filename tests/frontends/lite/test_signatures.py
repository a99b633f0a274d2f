"""Signatures of files."""

from dataclasses import replace

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter
from tests.frontends.lite.graphs import graph, lite_file, op

import tfport
from tfport.formats.lite.records import LiteSignature, TensorQuantization
from tfport.formats.lite.write import lite_bytes


def requantized(inputs, outputs):
    """A model of uint8 around one of int8, with a signature of these tensors."""
    file = lite_file(
        graph(
            "image -> score",
            op("QUANTIZE", "image", "inner"),
            op("RELU", "inner", "found"),
            op("QUANTIZE", "found", "score"),
            image="UINT8 1 3",
            inner="INT8 1 3",
            found="INT8 1 3",
            score="UINT8 1 3",
        )
    )
    names = ["image", "inner", "found", "score"]
    for name, zero in zip(names, (128, 0, 0, 128), strict=True):
        tensor = file.subgraphs[0].tensors[names.index(name)]
        tensor.name, tensor.quantization = name, TensorQuantization((0.5,), (zero,))
    ends = ({n: names.index(t) for n, t in each.items()} for each in (inputs, outputs))
    return lite_bytes(replace(file, signatures=[LiteSignature("serve", 0, *ends)]))


def interpreted(content, x):
    """What LiteRT computes from the file's own input."""
    interpreter = Interpreter(model_content=content)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tolist()


@pytest.mark.parametrize("output", ["found", "score"])
def test_a_signature_of_the_tensors_inside_gets_those_at_the_ends(output):
    """TensorFlow's converter leaves them so when it gives a quantized model inputs and outputs of uint8."""
    content = requantized({"x": "inner"}, {"y": output})
    x = np.array([[100, 128, 131]], np.uint8)
    answer = tfport.Session(tfport.load(content)).signature("serve")(x=x)["y"]
    assert answer.dtype == np.uint8
    assert answer.tolist() == interpreted(content, x) == [[128, 128, 131]]


def test_a_signature_that_reads_a_tensor_inside_keeps_it():
    model = tfport.load(requantized({"x": "image"}, {"y": "found"}))
    x = np.array([[100, 128, 131]], np.uint8)
    assert tfport.Session(model).signature("serve")(x=x)["y"].tolist() == [[0, 0, 3]]
