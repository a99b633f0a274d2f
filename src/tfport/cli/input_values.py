"""Read the arrays of `--input name=VALUE`, `--input name=@file.npy` and `--inputs file.npz` or `.json`.

A VALUE is JSON, or any text for a string input. A file other than .npy is the content of one
string: `--input image=@cat.jpg`. A .json file has values by input name, or a list of such objects;
`{"b64": …}` is a string of bytes.
"""

from __future__ import annotations

import base64
import itertools
import json
import zipfile
from typing import Any

import numpy as np

from tfport.errors import Error, UnreadableFile
from tfport.formats.encoding.pickled_strings import read_pickled_strings
from tfport.formats.files import reason
from tfport.graph.dtypes import STRING
from tfport.graph.model import Signature, TensorSpec
from tfport.runtime.feeds import as_array


def read_inputs(signature: Signature, values: list[str], file: str | None) -> dict[str, Any]:
    """The arrays that the options give, by input of the signature."""
    arrays = dict(_single(file)) if file else {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals:
            raise Error(f"--input {text}: expected name=VALUE or name=@file.npy")
        if name not in signature.inputs:
            inputs = ", ".join(signature.inputs) or "none"
            raise Error(f"--input {name}: unknown input; the inputs of {signature.name} are: {inputs}")
        arrays[name] = _value(value, signature.inputs[name], name)
    return arrays


def input_names(values: list[str], file: str | None) -> list[str]:
    """The names of the inputs that the options give."""
    return [*(_single(file) if file else ()), *(text.partition("=")[0] for text in values)]


def _value(text: str, spec: TensorSpec, name: str) -> Any:
    is_string = spec.dtype == STRING
    if text.startswith("@"):
        return _from_file(text[1:], spec)
    try:
        parsed = json.loads(text)
    except ValueError as error:
        if not is_string or _is_meant_as_json(text, spec):
            example = '["a", "b"]' if is_string else "[1, 2]"
            raise Error(
                f"--input {name}: expected {spec.dtype} as JSON, such as {example}, found {text!r}"
                f"{_where(error, text)}"
            ) from None
        parsed = text
    if is_string:
        return _wrapped(_strings(parsed, name), spec)
    return as_array(_complex(parsed, spec), spec.dtype, name)


def _is_meant_as_json(text: str, spec: TensorSpec) -> bool:
    """Whether the text for a string input cannot be the string itself."""
    return (spec.shape.rank or 0) > 1 or text.lstrip().startswith(('["', "[["))


def _where(error: ValueError, text: str) -> str:
    """Where JSON is wrong, at the end of a sentence."""
    if not isinstance(error, json.JSONDecodeError) or not text.lstrip().startswith(("[", "{", '"')):
        return ""
    if error.pos >= len(text.rstrip()):
        return f", which ends early: after character {len(text)}"
    return f", which is wrong at character {error.pos + 1}"


def _complex(parsed: Any, spec: TensorSpec) -> Any:
    """JSON has no complex numbers; real ones are converted here, and wrong values refused by `as_array`."""
    try:
        return np.asarray(parsed, spec.dtype.numpy) if spec.dtype.numpy.kind == "c" else parsed
    except (ValueError, TypeError, KeyError):
        return parsed


def _strings(parsed: Any, name: str) -> Any:
    array = np.array(parsed, object)
    flat = array.reshape(-1).tolist()
    if not all(isinstance(element, str) for element in flat):
        raise Error(f"--input {name}: expected strings in lists of equal length, found {parsed!r}")
    out = np.empty(len(flat), object)
    out[:] = [element.encode() for element in flat]
    return out.reshape(array.shape)


def _wrapped(array: Any, spec: TensorSpec) -> Any:
    """A single string becomes a vector of length 1 where the signature wants a vector."""
    return array.reshape(1) if array.ndim == 0 and spec.shape.rank == 1 else array


def _from_file(path: str, spec: TensorSpec) -> Any:
    try:
        if path.endswith(".npy"):
            with open(path, "rb") as file:
                strings = _pickled_strings(file, path)
            return np.load(path, allow_pickle=False) if strings is None else strings
        if spec.dtype != STRING:
            raise Error(f"{path}: expected a .npy file for {spec.dtype}")
        with open(path, "rb") as file:
            content = np.empty((), object)
            content[()] = file.read()
            return _wrapped(content, spec)
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    except (ValueError, EOFError) as error:
        raise UnreadableFile(f"{path}: not a .npy file: {error}") from None


def read_input_file(path: str) -> list[dict[str, Any]]:
    """The inputs in a file, for one or several calls."""
    return _read_json(path) if path.endswith(".json") else [_read_npz(path)]


def _single(path: str) -> dict[str, Any]:
    calls = read_input_file(path)
    if len(calls) != 1:
        raise UnreadableFile(f"{path}: expected the inputs of one call, found {len(calls)}")
    return calls[0]


def _read_json(path: str) -> list[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            parsed = json.load(file)
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(f"{path}: not JSON: {error}") from None
    calls = parsed if isinstance(parsed, list) else [parsed]
    if not calls or not all(isinstance(call, dict) for call in calls):
        raise UnreadableFile(
            f"{path}: expected an object with values by input name, or a list of such objects"
        )
    decoded = [{name: _decoded(value, f"{path}: `{name}`") for name, value in call.items()} for call in calls]
    return [_composed(call) for call in decoded]


def _composed(arrays: dict[str, Any]) -> dict[str, Any]:
    """The parts `x[0]`, `x[1]` of a sparse or ragged input as one tuple, as `tfport run -o` writes them."""
    wholes = [name.removesuffix("[0]") for name in arrays if name.endswith("[0]")]
    composed = dict(arrays)
    for whole in wholes:
        parts = list(itertools.takewhile(composed.__contains__, (f"{whole}[{i}]" for i in itertools.count())))
        composed[whole] = tuple(composed.pop(part) for part in parts)
    return composed


def _decoded(value: Any, where: str) -> Any:
    """Nested lists of numbers or of bytes, which are text or `{"b64": …}` in the file."""
    if isinstance(value, list):
        return [_decoded(element, where) for element in value]
    if not isinstance(value, dict):
        return value.encode(errors="surrogatepass") if isinstance(value, str) else value
    try:
        (text,) = (value[key] for key in value if key == "b64" and len(value) == 1)
        return base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        raise UnreadableFile(
            f'{where}: expected numbers, strings or {{"b64": "…"}}, found an object'
        ) from None


def _read_npz(path: str) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as file:
            if isinstance(file, np.ndarray):
                raise UnreadableFile(
                    f"{path}: expected an .npz file with an array for each input, found one array"
                )
            return _composed({name: _member(file, name, path) for name in file.files})
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    except (ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise UnreadableFile(f"{path}: not an .npz file: {error}") from None


def _member(file: Any, name: str, path: str) -> Any:
    """An array of an .npz file."""
    with file.zip.open(name if name in file.zip.namelist() else f"{name}.npy") as member:
        strings = _pickled_strings(member, f"{path}: `{name}`")
    return file[name] if strings is None else strings


def _pickled_strings(file: Any, where: str) -> Any:
    """Strings that NumPy pickled, read without unpickling; None if the array is not of Python objects."""
    version = np.lib.format.read_magic(file)
    read_header = (
        np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    )
    kind = read_header(file)[2]
    return read_pickled_strings(file.read(), where) if kind.hasobject else None
