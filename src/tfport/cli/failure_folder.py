"""Write what `tfport run` needs to reproduce a difference: inputs, both outputs and the rewritten model."""

from __future__ import annotations

import base64
import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.cli.run.outputs import flatten_outputs, is_storable, write_npz
from tfport.formats.output import new_path, without_slash

if TYPE_CHECKING:
    from tfport.fix.certify.failed_trial import FailedTrial
    from tfport.fix.result import Fixed


def write_failure(fixed: Fixed, failed: FailedTrial, output: str, folder: str) -> list[str]:
    """Write a new folder; returns the commands that reproduce the difference."""
    suffix = os.path.splitext(without_slash(output))[1]
    with new_path(folder) as temporary:
        temporary.mkdir()
        inputs = _write_inputs(failed.trial.inputs, temporary)
        for name, outputs in (("expected", failed.expected), ("answer", failed.answer)):
            if outputs is not None and all(map(is_storable, flatten_outputs(outputs).values())):
                write_npz(outputs, str(temporary / f"{name}.npz"))
        fixed.write_model(temporary / f"model{suffix}")
    options = ["--inputs", f"{folder}/{inputs}"]
    if failed.trial.signature in fixed.source.signatures:
        options = ["--signature", failed.trial.signature, *options]
    models = (fixed.source.where, f"{folder}/model{suffix}")
    return [shlex.join(["tfport", "run", model, *options]) for model in models]


def _write_inputs(inputs: Mapping[str, Any], folder: Path) -> str:
    """Write inputs as .npz, or as .json if NumPy cannot store them; returns the name of the file."""
    arrays = flatten_outputs({name: _arrays(value) for name, value in inputs.items()})
    if all(map(is_storable, arrays.values())):
        write_npz(arrays, str(folder / "inputs.npz"))
        return "inputs.npz"
    (folder / "inputs.json").write_text(
        json.dumps({name: _nested(a) for name, a in arrays.items()}), encoding="utf-8"
    )
    return "inputs.json"


def _arrays(value: Any) -> Any:
    return tuple(map(np.asarray, value)) if isinstance(value, tuple) else np.asarray(value)


def _nested(array: Any) -> Any:
    if array.ndim:
        return [_nested(part) for part in (array if array.dtype != object else _parts(array))]
    element = array.item()
    return {"b64": base64.b64encode(element).decode()} if isinstance(element, bytes) else _number(element)


def _parts(array: Any) -> Any:
    return (array[i : i + 1].reshape(array.shape[1:]) for i in range(array.shape[0]))


def _number(element: Any) -> Any:
    return element if isinstance(element, int | float | str) else float(element)
