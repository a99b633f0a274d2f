"""Models that real releases of Keras saved answer here as they did there.

The everyday run takes each case as one of the releases and formats saved it, another for each
case; TFPORT_RECORDED=all takes all of them (`make keras-recorded`). `open.json` has the
models that tfport does not answer as the release does: one that starts to must leave the list.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.frontends.keras.recorded_models import FOLDER, RecordedModel, recorded

import tfport
from tfport.errors import Error
from tfport.frontends.keras.build import SIGNATURE
from tfport.frontends.keras.instance import KerasModel
from tfport.frontends.keras.tensor import flat_tensors

REASONS: dict[str, list[str]] = json.loads((FOLDER / "open.json").read_text())
"""What tfport cannot do yet, and the models that need it."""
OPEN = {name for names in REASONS.values() for name in names}
CLOSE, CLOSE_HALF = 1e-5, 2e-2
"""Relative to the largest number of an answer; the second where a model computes in 16 bits."""


def chosen() -> Iterator[RecordedModel]:
    by_case: dict[tuple[str, str], list[RecordedModel]] = {}
    for model in recorded():
        by_case.setdefault((model.family, model.case), []).append(model)
    for (_, case), models in by_case.items():
        everything = os.environ.get("TFPORT_RECORDED") == "all"
        yield from models if everything else [models[zlib.crc32(case.encode()) % len(models)]]


@pytest.mark.parametrize("recorded_model", list(chosen()), ids=str)
def test_recorded_models_answer_as_in_the_release_that_saved_them(
    recorded_model: RecordedModel, tmp_path: Path
) -> None:
    model = tfport.load(recorded_model.write(tmp_path))
    assert isinstance(model, KerasModel)
    if str(recorded_model) in OPEN:
        with pytest.raises((AssertionError, Error)):  # an answer as recorded: take it out of open.json
            assert_answers(model, recorded_model)
    else:
        assert_answers(model, recorded_model)


def recorded_ops(family: str, case: str, folder: Path) -> list[list[str]]:
    """The ops of each recorded file of a case."""
    files = [model.write(folder) for model in recorded(family) if model.case == case]
    assert files
    return [[node.op for node in tfport.load(file).graph] for file in files]


def test_a_tensor_alone_is_not_concatenated(tmp_path: Path) -> None:
    """TensorFlow refuses a ConcatV2 of one."""
    for ops in recorded_ops("pooling", "AdaptiveMaxPooling1D_one", tmp_path):
        assert "ConcatV2" not in ops


def test_layer_normalization_is_not_what_onednn_fuses(tmp_path: Path) -> None:
    """TensorFlow 2.21 makes `beta - mean * inverse` an op for which epsilon is 0.001."""
    for ops in recorded_ops("normalization", "LayerNormalization_epsilon", tmp_path):
        assert "Rsqrt" in ops
        assert "Sub" not in ops


def assert_answers(model: KerasModel, recorded_model: RecordedModel) -> None:
    assert not model.no_graph
    call = tfport.Session(model).signature(SIGNATURE)
    names = input_names(model)
    for inputs, answers in recorded_model.questions():
        results = call(**dict(zip(names, inputs, strict=True)))
        for name, answer in zip(output_names(model), answers, strict=True):
            assert_close(np.asarray(results[name]), answer, CLOSE_HALF if halves(recorded_model) else CLOSE)


def test_the_list_of_open_cases_names_recorded_models() -> None:
    assert not OPEN - {str(model) for model in recorded()}


def input_names(model: KerasModel) -> list[str]:
    return [ref.layer for ref in flat_tensors(model.root.config.model.inputs)]


def output_names(model: KerasModel) -> list[str]:
    """The names in the signature, in the order of the model: a layer's second output has a number."""
    outputs, names = model.root.config.model.outputs, []
    for key in sorted(outputs) if isinstance(outputs, dict) else [r.layer for r in flat_tensors(outputs)]:
        number = sum(name == key or name.startswith(f"{key}_#") for name in names)
        names.append(f"{key}_#{number}" if number else key)
    return [name.replace("_#", "_") for name in names]


def halves(model: RecordedModel) -> bool:
    return "float16" in model.case


def assert_close(result: np.ndarray, answer: np.ndarray, relative: float) -> None:
    assert result.shape == answer.shape
    if answer.dtype.kind == "O":
        assert [bytes(s) for s in result.ravel()] == [bytes(s) for s in answer.ravel()]
        return
    scale = np.nanmax(np.abs(answer), initial=1) if answer.dtype.kind == "f" else 1
    np.testing.assert_allclose(
        result.astype("f8"), answer.astype("f8"), rtol=relative, atol=relative * float(scale), equal_nan=True
    )


def test_bins_are_integers_of_the_type_of_the_release(tmp_path: Path) -> None:
    models = [each for each in recorded() if each.case in ("Discretization_old", "Discretization_plain")]
    types = {str(answer.dtype) for each in models for _, (answer,) in each.questions()}
    assert types == {"int32", "int64"}
    for each in models:
        loaded = tfport.load(each.write(tmp_path))
        (input_name,), (output_name,) = input_names(loaded), output_names(loaded)
        for (array,), (answer,) in each.questions():
            results = tfport.Session(loaded).signature(SIGNATURE)(**{input_name: array})
            assert results[output_name].dtype == answer.dtype, each
