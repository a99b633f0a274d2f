"""Read the arrays of `--input name=VALUE`, `--input name=@file.npy` and `--inputs file.npz`.

A VALUE is JSON, or any text for a string input. A file other than .npy is the content of one
string: `--input image=@cat.jpg`.
"""

from __future__ import annotations

import json
import zipfile
from typing import Any

import numpy as np

from tfport.errors import Error, UnreadableFile
from tfport.formats.files import reason
from tfport.graph.dtypes import STRING
from tfport.graph.model import Signature, TensorSpec
from tfport.runtime.feeds import as_array


def read_inputs(signature: Signature, values: list[str], file: str | None) -> dict[str, Any]:
    """The arrays that the options give, by input of the signature."""
    arrays = dict(read_npz(file)) if file else {}
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
    return [*(read_npz(file) if file else ()), *(text.partition("=")[0] for text in values)]


def _value(text: str, spec: TensorSpec, name: str) -> Any:
    is_string = spec.dtype == STRING
    if text.startswith("@"):
        return _from_file(text[1:], spec)
    try:
        parsed = json.loads(text)
    except ValueError:
        if not is_string:
            raise Error(
                f"--input {name}: expected {spec.dtype} as JSON, such as [1, 2], found {text!r}"
            ) from None
        parsed = text
    if is_string:
        return _wrapped(_strings(parsed, name), spec)
    return as_array(_complex(parsed, spec), spec.dtype, name)


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
            return np.load(path, allow_pickle=False)
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


def read_npz(path: str) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as file:
            if isinstance(file, np.ndarray):
                raise UnreadableFile(
                    f"{path}: expected an .npz file with an array for each input, found one array"
                )
            return {name: file[name] for name in file.files}
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    except (ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise UnreadableFile(f"{path}: not an .npz file: {error}") from None
