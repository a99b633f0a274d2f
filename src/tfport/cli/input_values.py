"""`--input name=VALUE`, `--input name=@file.npy` and `--inputs file.npz`: text and files to arrays.

A VALUE is JSON, or for strings any text. A file that is no .npy is the content of one string:
`--input image=@cat.jpg`.
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


def given_inputs(signature: Signature, values: list[str], file: str | None) -> dict[str, Any]:
    """The inputs that the options name; each must be one of the signature."""
    found = dict(read_npz(file)) if file else {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals:
            raise Error(f"--input {text}: expected name=VALUE or name=@file.npy")
        if name not in signature.inputs:
            raise Error(f"--input {name}: no such input; signature {signature.name} has {_listed(signature)}")
        found[name] = _value(value, signature.inputs[name], name)
    return found


def _listed(signature: Signature) -> str:
    return ", ".join(signature.inputs) or "none"


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
    try:
        return np.asarray(parsed, spec.dtype.numpy)
    except (ValueError, TypeError, OverflowError):
        raise Error(f"--input {name}: expected {spec.dtype} {spec.shape}, found {text!r}") from None


def _strings(parsed: Any, name: str) -> Any:
    array = np.array(parsed, object)
    flat = array.reshape(-1).tolist()
    if not all(isinstance(one, str) for one in flat):
        raise Error(f"--input {name}: expected strings in lists of equal length, found {parsed!r}")
    out = np.empty(len(flat), object)
    out[:] = [one.encode() for one in flat]
    return out.reshape(array.shape)


def _wrapped(array: Any, spec: TensorSpec) -> Any:
    """One string where a vector is expected is a vector of one."""
    return array.reshape(1) if array.ndim == 0 and spec.shape.rank == 1 else array


def _from_file(path: str, spec: TensorSpec) -> Any:
    try:
        if path.endswith(".npy"):
            return np.load(path, allow_pickle=False)
        if spec.dtype != STRING:
            raise Error(f"{path}: expected a .npy file for {spec.dtype}")
        with open(path, "rb") as file:
            whole = np.empty((), object)
            whole[()] = file.read()
            return _wrapped(whole, spec)
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    except (ValueError, EOFError) as error:
        raise UnreadableFile(f"{path}: no array in it: {error}") from None


def read_npz(path: str) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as file:
            if isinstance(file, np.ndarray):
                raise UnreadableFile(f"{path}: one array; expected an .npz with an array for each input")
            return {name: file[name] for name in file.files}
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    except (ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise UnreadableFile(f"{path}: no .npz with arrays: {error}") from None
