"""Decode a predict request: rows (`instances`) or columns (`inputs`) to named arrays.

    request = decode(body, signature_of)
    request.signature, request.inputs, request.layout

Names, types and the structure of the JSON are checked here; shapes when the signature runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from tfport.graph.dtypes import DType
from tfport.graph.model import Signature
from tfport.serve.rest.json_errors import has_names, raise_rows_error, raise_value_error
from tfport.serve.rest.numbers import INPUTS, INSTANCES, SIGNATURE, numbers_of
from tfport.serve.rest.parse import excerpt, parsed
from tfport.serve.rest.tensors import NotATensor, array_of, is_object
from tfport.serve.status import StatusError, invalid_argument

if TYPE_CHECKING:
    from numpy.typing import NDArray


class TensorLayout(Enum):
    """How tensors are written in a request; the value is the key of the response."""

    ROWS = "predictions"
    COLUMNS = "outputs"


class RestPredictRequest(NamedTuple):
    """A decoded predict request."""

    signature: Signature
    inputs: dict[str, NDArray[Any]]
    layout: TensorLayout


def decode(body: bytes, signature_of: Callable[[str], Signature]) -> RestPredictRequest:
    """Decode a body; `signature_of` returns a signature by name."""
    if (large := numbers_of(body, signature_of)) is not None:
        signature, key, inputs = large
        return RestPredictRequest(
            signature, inputs, TensorLayout.ROWS if key == INSTANCES else TensorLayout.COLUMNS
        )
    document = parsed(body)
    signature = signature_of(signature_name(document))
    if not signature.inputs:
        raise invalid_argument(f"Failed to get input map for signature: {signature.name or 'DEFAULT'}")
    # no `r` and no `l`: the body contains neither `true` nor `false`, not even in keys
    plain = b"r" not in body and b"l" not in body
    if INSTANCES in document:
        rows = document[INSTANCES]
        if INPUTS in document:
            problem = "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist "
        elif not isinstance(rows, list):
            problem = "Expecting 'instances' to be an list/array"
        elif not rows:
            problem = "No values in 'instances' array"
        else:
            return RestPredictRequest(signature, _from_rows(rows, signature, plain), TensorLayout.ROWS)
        raise invalid_argument(f"JSON Value: {excerpt(document)} {problem}")
    if INPUTS in document:
        return RestPredictRequest(
            signature, _from_columns(document[INPUTS], signature, plain), TensorLayout.COLUMNS
        )
    raise invalid_argument("Missing 'inputs' or 'instances' key")


def signature_name(document: Mapping[str, Any]) -> str:
    """Return the signature that a request names; empty if it names none."""
    name = document.get(SIGNATURE, "")
    if not isinstance(name, str):
        raise invalid_argument(
            f"JSON Value: {excerpt(document)} not formatted correctly. "
            f"'signature_name' key must be a string value."
        )
    return name


def _from_columns(value: Any, signature: Signature, plain: bool) -> dict[str, NDArray[Any]]:
    if not is_object(value):
        if len(signature.inputs) > 1:
            raise invalid_argument(
                "inputs is a plain value/list, but expecting an object as multiple input tensors required "
                "as per tensorinfo_map"
            )
        value = {next(iter(signature.inputs)): value}
    inputs = {}
    for name, spec in signature.inputs.items():
        if name in value:
            inputs[name] = _column(value[name], spec.dtype, plain)
        elif name not in signature.defaults:
            raise invalid_argument(f"Missing named input: {name} in 'inputs' object.")
    return inputs


def _column(value: object, dtype: DType, plain: bool) -> NDArray[Any]:
    try:
        return array_of(value, dtype, plain)
    except NotATensor:
        raise_value_error(value, dtype)
        raise _unclear() from None


def _from_rows(rows: list[Any], signature: Signature, plain: bool) -> dict[str, NDArray[Any]]:
    if not isinstance(rows[0], dict) and len(signature.inputs) > 1:
        raise invalid_argument(
            "instances is a plain list, but expecting list of objects as multiple input tensors required "
            "as per tensorinfo_map"
        )
    read = _from_objects if is_object(rows[0]) else _from_values
    try:
        return read(rows, signature, plain)
    except (NotATensor, StatusError):
        raise_rows_error(rows, signature, lambda some: read(some, signature, plain))
        raise _unclear() from None


def _from_values(rows: list[Any], signature: Signature, plain: bool) -> dict[str, NDArray[Any]]:
    if dict in set(map(type, rows)) and any(map(is_object, rows)):
        raise NotATensor
    name, spec = next(iter(signature.inputs.items()))
    return {name: array_of(rows, spec.dtype, plain)}


def _from_objects(rows: list[Any], signature: Signature, plain: bool) -> dict[str, NDArray[Any]]:
    names = rows[0].keys()
    if not has_names(names, signature) or not all(is_object(row) and row.keys() == names for row in rows):
        raise NotATensor
    return {
        name: array_of([row[name] for row in rows], signature.inputs[name].dtype, plain) for name in names
    }


def _unclear() -> StatusError:
    return invalid_argument("JSON Value is not formatted correctly for the inputs of the signature")
