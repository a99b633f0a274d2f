"""Decode the Examples of a classify or regress request from JSON, and encode the results.

`serve.classify` runs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from tfport.formats.proto import serving_pb2 as pb
from tfport.serve.classify import examples_tensor
from tfport.serve.rest.decode import signature_name
from tfport.serve.rest.encode import SEPARATOR, printed
from tfport.serve.rest.parse import excerpt, json_type, parsed
from tfport.serve.rest.tensors import decoded, is_base64, text_bytes
from tfport.serve.status import invalid_argument
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXAMPLES, CONTEXT = "examples", "context"


@dataclass(frozen=True, slots=True)
class ExamplesRequest:
    """A decoded classify or regress request."""

    signature: str
    examples: NDArray[Any]


def decode_examples(body: bytes) -> ExamplesRequest:
    """Decode the signature name and the Examples, each with the common context."""
    document = parsed(body)
    name = signature_name(document)
    context = _serialized(document[CONTEXT]) if CONTEXT in document else b""
    rows = document.get(EXAMPLES)
    if EXAMPLES not in document:
        problem = "When method is classify, key 'examples' is expected and was not found"
    elif not isinstance(rows, list):
        problem = "Expecting 'examples' value to be an list/array"
    elif not rows:
        problem = "'examples' value is an empty array"
    else:
        return ExamplesRequest(name, examples_tensor([_serialized(row) for row in rows], context))
    raise invalid_argument(f"JSON Value: {excerpt(document)} {problem}")


def _serialized(value: object) -> bytes:
    """Serialize an Example."""
    if not isinstance(value, dict):
        raise invalid_argument(f"Example must be JSON object but got JSON {json_type(value)}")
    example = pb.Example()
    for name, content in value.items():
        feature = example.features.feature[text_bytes(name).decode("utf-8", "replace")]
        _fill(feature, content if isinstance(content, list) else [content], name)
    return example.SerializeToString(deterministic=True)


def _fill(feature: pb.Feature, values: list[Any], name: str) -> None:
    """Set the list of the first value's kind; all other values must be of that kind."""
    if not values:
        feature.SetInParent()
        return
    kind = _kind(values[0], name)
    if any(_kind(value, name) != kind for value in values):
        raise invalid_argument(f"Unexpected element type in feature: {name} expecting type: {kind}")
    if kind == "float":
        feature.float_list.value.extend(values)
    elif kind == "bytes":
        feature.bytes_list.value.extend(text_bytes(v) if isinstance(v, str) else decoded(v) for v in values)
    elif all(-(2**63) <= value < 2**63 for value in values):
        feature.int64_list.value.extend(map(int, values))
    else:
        raise invalid_argument(f"Feature: {name} has uint64_t element. Only int64_t is supported.")


def _kind(value: object, name: str) -> str:
    if isinstance(value, str) or is_base64(value):
        return "bytes"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float"
    raise invalid_argument(f"Feature: {name} has element with unexpected JSON type: {json_type(value)}")


def classes_json(results: Sequence[Sequence[tuple[str, float]]]) -> bytes:
    """Encode the labels and scores of each Example."""
    if not results:
        raise invalid_argument("Cannot convert empty ClassificationResults to JSON")
    rows = [
        SEPARATOR.join(
            b"[%s, %s]" % (orjson.dumps(label), score)
            for (label, _), score in zip(row, _numbers([score for _, score in row]), strict=True)
        )
        for row in results
    ]
    return _results(b"[%s\n    ]" % SEPARATOR.join(b"[%s]" % row for row in rows))


def regressions_json(results: Sequence[float]) -> bytes:
    """Encode a number for each Example."""
    if not results:
        raise invalid_argument("Cannot convert empty RegressionResults to JSON")
    return _results(b"[%s]" % SEPARATOR.join(_numbers(results)))


def _results(rows: bytes) -> bytes:
    return b'{\n    "results": %s\n}' % rows


def _numbers(values: Sequence[float]) -> list[bytes]:
    """Print numbers as 32-bit floats."""
    return printed(np.array(values, np.float32))[1:-1].split(SEPARATOR) if values else []
