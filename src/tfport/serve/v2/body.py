"""Bodies of inference requests and responses over REST: JSON, optionally followed by binary tensors.

If binary data follows, a header has the length of the JSON. A length of 0 means that the body is the
binary data of the model's only input.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from tfport.serve.interface import ServableInterface
from tfport.serve.servable import Arrays, Servable
from tfport.serve.status import invalid_argument
from tfport.serve.v2 import tensors
from tfport.serve.v2.infer import InferRequest, reject_unsupported
from tfport.serve.v2.metadata import shape_of, signature_of
from tfport.startup.dataclass import dataclass, field

LENGTH = "Inference-Header-Content-Length"


@dataclass
class RestInferRequest:
    """An inference request, and which outputs to return as binary data."""

    request: InferRequest = field(default_factory=InferRequest)
    binary: dict[str, bool] = field(default_factory=dict)
    all_binary: bool = False

    def is_binary(self, name: str) -> bool:
        return self.binary.get(name, self.all_binary)

    def has_binary(self, names: Iterable[str]) -> bool:
        return any(map(self.is_binary, names))


def read_request(
    body: bytes | memoryview, length: str | None, servable: ServableInterface
) -> RestInferRequest:
    """Parse a body; `length` is the value of the header `Inference-Header-Content-Length`."""
    size = _header_size(length, len(body))
    if size == 0 and length is not None:
        return _only_binary(body, servable)
    parsed, rest = RestInferRequest(), _BinaryData(memoryview(body)[size:])
    document = _object(parse_json(bytes(body[:size])), "the inference request")
    parameters = _parameters(document)
    parsed.request.id = _text(document, "id", "")
    parsed.request.signature_name = _text(parameters, "signature_name", "")
    parsed.all_binary = parameters.get("binary_data_output") is True
    for item in _list(document, "inputs"):
        _read_input(parsed.request, _object(item, "an input"), rest)
    if rest.left:
        raise invalid_argument(
            f"unexpected additional input data for model '{servable.name}': {rest.left} bytes"
        )
    for item in _list(document, "outputs") if document.get("outputs") is not None else []:
        _read_output(parsed, _object(item, "an output"))
    return parsed


def write_answer(servable: Servable, parsed: RestInferRequest, answers: Arrays) -> tuple[bytes, list[bytes]]:
    """Return the JSON of a response, and the binary tensors that follow it."""
    outputs: list[dict[str, Any]] = []
    raw: list[bytes] = []
    for name, array in answers.items():
        output: dict[str, Any] = {
            "name": name,
            "datatype": tensors.answered_datatype(name, array),
            "shape": array.shape,
        }
        if parsed.is_binary(name):
            raw.append(tensors.to_raw(array))
            output["parameters"] = {"binary_data_size": len(raw[-1])}
        else:
            output["data"] = tensors.to_json(array)
        outputs.append(output)
    head: dict[str, Any] = {"model_name": servable.name, "model_version": str(servable.version)}
    if parsed.request.id:
        head["id"] = parsed.request.id
    return orjson.dumps({**head, "outputs": outputs}), raw


def parse_json(text: bytes) -> object:
    """Parse JSON; NaN and infinities are accepted, as Triton's clients write them."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if b"NaN" in text or b"Infinity" in text:
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                pass
        raise invalid_argument(
            f"failed to parse the request JSON buffer: {error.msg} at {error.pos}"
        ) from None


class _BinaryData:
    """The binary data after the JSON, read from front to back."""

    def __init__(self, data: memoryview) -> None:
        self.data = data

    @property
    def left(self) -> int:
        return len(self.data)

    def take(self, size: object, name: str) -> memoryview:
        if type(size) is not int or size < 0:
            raise invalid_argument(f"Unable to parse 'binary_data_size' of input '{name}'")
        if size > len(self.data):
            raise invalid_argument(
                f"unexpected size for input '{name}', expecting {size - len(self.data)} additional bytes"
            )
        taken, self.data = self.data[:size], self.data[size:]
        return taken


def _read_input(request: InferRequest, document: Mapping[str, Any], rest: _BinaryData) -> None:
    name, datatype, parameters = _text(document, "name"), _text(document, "datatype"), _parameters(document)
    shape = tensors.shape_of(document.get("shape"), name)
    reject_unsupported(parameters, name)
    if "binary_data_size" in parameters:
        raw = rest.take(parameters["binary_data_size"], name)
        request.give(name, datatype, tensors.from_raw(datatype, shape, raw, name))
    else:
        request.give(name, datatype, tensors.from_json(datatype, shape, document.get("data"), name))


def _read_output(parsed: RestInferRequest, document: Mapping[str, Any]) -> None:
    name, parameters = _text(document, "name"), _parameters(document)
    reject_unsupported(parameters, name)
    parsed.request.want(name)
    if "binary_data" in parameters:
        parsed.binary[name] = parameters["binary_data"] is True


def _only_binary(body: bytes | memoryview, servable: ServableInterface) -> RestInferRequest:
    """Read a body that is the data of the only input; one unknown size follows from its length."""
    signature = signature_of(servable)
    if len(signature.inputs) != 1:
        raise invalid_argument(
            f"a raw binary request needs a model with one input; this model has {len(signature.inputs)}"
        )
    ((name, spec),) = signature.inputs.items()
    datatype, sizes = tensors.datatype_of(spec.dtype), shape_of(spec)
    kind = tensors.kind_of(datatype, name)
    if kind.hasobject:
        text = len(body).to_bytes(4, "little") + bytes(body)
        array = tensors.from_raw(datatype, (1,) * len(sizes), text, name)
    else:
        known = kind.itemsize * math.prod(size for size in sizes if size >= 0)
        if sizes.count(-1) > 1 or not known or len(body) % known:
            raise invalid_argument(f"cannot derive the shape of input '{name}' from {len(body)} bytes")
        shape = tuple(len(body) // known if size < 0 else size for size in sizes)
        array = tensors.from_raw(datatype, shape, body, name)
    return RestInferRequest(InferRequest(inputs={name: (datatype, array)}), all_binary=True)


def _header_size(length: str | None, size: int) -> int:
    if length is None:
        return size
    if not (length.isascii() and length.isdecimal() and len(length) < 20):
        raise invalid_argument(f"Unable to parse {LENGTH}, got: {length[:40]}")
    if int(length) > size:
        raise invalid_argument(f"inference header size should be in range (0, {size}), got: {length}")
    return int(length)


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise invalid_argument(f"{what} must be a JSON object")
    return value


def _parameters(document: Mapping[str, Any]) -> dict[str, Any]:
    parameters = document.get("parameters")
    return {} if parameters is None else _object(parameters, "'parameters'")


def _list(document: Mapping[str, Any], key: str) -> list[Any]:
    if not isinstance(document.get(key), list):
        raise invalid_argument(f"Unable to parse '{key}': expected a list")
    value: list[Any] = document[key]
    return value


def _text(document: Mapping[str, Any], key: str, without: str | None = None) -> str:
    value = document.get(key)
    if value is None:  # some clients send null instead of leaving it out
        value = without
    if not isinstance(value, str):
        raise invalid_argument(f"Unable to parse '{key}': expected a string")
    return value
