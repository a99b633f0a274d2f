"""Classify and regress: call a signature that takes Examples and read its outputs as results.

    await classify(servable, "", examples_tensor([...]))        [[("cat", 0.9), ("dog", 0.1)], …]
    await regress(servable, "", examples_tensor([...]))         [0.5, …]

All error messages are TensorFlow Serving's. The method name of a signature is checked only with
`--enable_signature_method_name_check`: in TensorFlow 2 it is always predict.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.encoding.tensor import NUMPY, type_name
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import serving_pb2 as pb
from tfport.formats.proto import serving_wire_pb2 as wire
from tfport.formats.saved_model.warmup import CLASSIFY, REGRESS
from tfport.graph.model import Model, Signature
from tfport.runtime.select_signature import DEFAULT
from tfport.serve.request_checks import types_match
from tfport.serve.servable import Arrays, Servable
from tfport.serve.status import invalid_argument

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    from numpy.typing import NDArray


INPUTS, CLASSES, SCORES, OUTPUTS = "inputs", "classes", "scores", "outputs"
Classes = list[list[tuple[str, float]]]
"""Label and score of every class for each Example; empty or 0 if the model does not return it."""
_NAMES = {CLASSIFY: "classification", REGRESS: "regression"}


async def classify(servable: Servable, name: str, examples: Array, *, check_method: bool = False) -> Classes:
    """Return the classes of each Example."""
    signature = signature_of_examples(servable.model, name, CLASSIFY, check_method=check_method)
    return classes_of(await called(servable, signature, examples), len(examples))


async def regress(
    servable: Servable, name: str, examples: Array, *, check_method: bool = False
) -> list[float]:
    """Return a number for each Example."""
    signature = signature_of_examples(servable.model, name, REGRESS, check_method=check_method)
    return regressions_of(await called(servable, signature, examples), len(examples))


def signature_of_examples(model: Model, name: str, method: str, *, check_method: bool = False) -> Signature:
    """Return the signature to classify or regress with, or raise if it does not fit."""
    wanted = name or DEFAULT
    if wanted not in model.signatures:
        raise invalid_argument(f"No signature was found with the name: {wanted}")
    signature = model.signatures[wanted]
    can_answer(signature, method, str(model.meta.signature_def[wanted]), check_method=check_method)
    return signature


def can_answer(signature: Signature, method: str, shown: str, *, check_method: bool = False) -> None:
    """Check that a signature has the inputs and outputs of a method; `shown` is its text for errors."""
    kind, outputs = _NAMES[method], signature.outputs
    if check_method and signature.method != method:
        raise invalid_argument(
            f"Expected {kind} signature method_name to be {method}. Was: {signature.method}"
        )
    if len(signature.inputs) != 1:
        raise invalid_argument("Expected one input Tensor.")
    if method == CLASSIFY and len(outputs) not in (1, 2):
        raise invalid_argument(f"Expected one or two output Tensors, found {len(outputs)}")
    if method == REGRESS and len(outputs) != 1:
        raise invalid_argument("Expected one output Tensor.")
    if INPUTS not in signature.inputs:
        raise invalid_argument(f"No {kind} inputs found in SignatureDef: {shown}")
    if method == CLASSIFY and CLASSES not in outputs and SCORES not in outputs:
        raise invalid_argument(
            "Expected classification signature outputs to contain at least one of "
            f'"{CLASSES}" or "{SCORES}". Signature was: {shown}'
        )
    if method == REGRESS and OUTPUTS not in outputs:
        raise invalid_argument(f"No regression outputs found in SignatureDef: {shown}")


async def called(servable: Servable, signature: Signature, examples: Array) -> Arrays:
    """Call a signature and return the outputs that results are made of."""
    return await servable.predict(signature.name, {INPUTS: examples}, outputs_of_results(signature))


def outputs_of_results(signature: Signature) -> list[str]:
    """Return the outputs that results are made of, or raise if the signature does not take Examples."""
    types_match(signature, {INPUTS: graph_pb2.DT_STRING})
    return [name for name in (CLASSES, SCORES, OUTPUTS) if name in signature.outputs]


def classes_of(outputs: Arrays, count: int) -> Classes:
    """Convert the outputs of a classification of `count` Examples to classes."""
    labels, scores = outputs.get(CLASSES), outputs.get(SCORES)
    for name, array, dtype in ((CLASSES, labels, "O"), (SCORES, scores, "float32")):
        if array is not None:
            _is_matrix(name, array, dtype, count)
    if labels is not None and scores is not None and labels.shape[1] != scores.shape[1]:
        raise invalid_argument(
            "Tensors class and score should match in dim_size(1). "
            f"Got {labels.shape[1]} vs. {scores.shape[1]}"
        )
    if labels is None:
        return [[("", score) for score in row] for row in scores.tolist()] if scores is not None else []
    texts = [[label.decode("utf-8", "replace") for label in row] for row in labels.tolist()]
    numbers = scores.tolist() if scores is not None else [[0.0] * len(row) for row in texts]
    return [list(zip(*row, strict=True)) for row in zip(texts, numbers, strict=True)]


def regressions_of(outputs: Arrays, count: int) -> list[float]:
    """Convert the outputs of a regression of `count` Examples to numbers."""
    array = outputs[OUTPUTS]
    if not (array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1)):
        raise invalid_argument(
            "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got "
            f"{_shape(array)}"
        )
    if len(array) != count:
        raise invalid_argument(f"Input batch size did not match output batch size: {count} vs. {len(array)}")
    if array.dtype != "float32":
        raise invalid_argument(f"Expected output Tensor of DT_FLOAT.  Got: {_type(array)}")
    numbers: list[float] = array.ravel().tolist()
    return numbers


def _is_matrix(name: str, array: Array, dtype: str, count: int) -> None:
    if array.ndim != 2:
        raise invalid_argument(f"Expected Tensor shape: [batch_size num_classes] but got {_shape(array)}")
    if array.dtype != dtype:
        wanted = "DT_STRING" if dtype == "O" else "DT_FLOAT"
        raise invalid_argument(f"Expected {name} Tensor of {wanted}. Got: {_type(array)}")
    if len(array) != count:
        raise invalid_argument(f"Expected {name} output batch size of {count}. Got: {len(array)}")


def _shape(array: Array) -> str:
    return f"[{','.join(map(str, array.shape))}]"


def _type(array: Array) -> str:
    return next(
        (type_name(number) for number, kind in NUMPY.items() if kind == array.dtype), str(array.dtype)
    )


# The Examples of a request as one string tensor: each Example serialized.
#
# Examples are not parsed here. A context is prepended to each Example: concatenated protobuf messages
# parse as one message with the fields of both.


def examples_tensor(examples: Sequence[bytes], context: bytes = b"") -> NDArray[Any]:
    """Return serialized Examples as a tensor."""
    if not examples:
        raise invalid_argument("Input is empty.")
    array = np.empty(len(examples), object)
    array[:] = [context + example for example in examples] if context else list(examples)
    return array


def input_tensor(message: wire.InputWire | pb.Input) -> NDArray[Any]:
    """Return the Examples of a request as a tensor."""
    if isinstance(message, pb.Input):
        message = wire.InputWire.FromString(message.SerializeToString(deterministic=True))
    if message.WhichOneof("kind") == "example_list_with_context":
        with_context = message.example_list_with_context
        return examples_tensor(with_context.examples, with_context.context)
    return examples_tensor(message.example_list.examples)
