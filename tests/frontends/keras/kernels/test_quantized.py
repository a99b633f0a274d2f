"""Quantized layers compute what the releases of Keras 3 that saved them compute."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built_file, stored

from tfport.errors import CannotRun
from tfport.formats.keras.records import BY_PATH, KerasFile, StoredWeights
from tfport.graph.model import Model

RECORDED = dict(np.load(Path(__file__).parents[3] / "expected" / "keras_quantized.npz"))
"""By release and case: the configuration, the arrays of the layer, an input and the answer to it."""
CASES = [
    (key.removeprefix("release "), name)
    for key in RECORDED
    if key.startswith("release ")
    for name in json.loads(bytes(RECORDED[key]))["cases"]
]
REFUSED = ("3.12.4", "einsum int4")


def model_of(release: str, name: str) -> Model:
    case = json.loads(bytes(RECORDED[f"release {release}"]))["cases"][name]
    arrays = [stored(RECORDED[f"{release} {name} {place}"]) for place in range(case["count"])]
    lists = {"layers/einsum_dense" if "einsum" in name else "layers/dense": arrays}
    file = KerasFile("m.keras", "keras", case["config"], StoredWeights(BY_PATH, lists), release)
    return built_file(file)


@pytest.mark.parametrize(("release", "name"), [case for case in CASES if case != REFUSED])
def test_quantized_layers_answer_as_the_release_that_saved_them(release, name):
    answer = answers(model_of(release, name), RECORDED[f"{release} {name} x"])[0]
    np.testing.assert_allclose(answer, RECORDED[f"{release} {name} y"], rtol=1e-5, atol=1e-6)


def test_kernels_that_are_not_unpacked_are_refused():
    with pytest.raises(CannotRun, match=r"quantized as `int4.*`, which tfport does not build"):
        model_of(*REFUSED)
