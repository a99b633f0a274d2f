"""Which file of a version is opened."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.lite.cases import case
from tests.runtime.cases import f32

from tfport.serve.models.config import ModelSettings
from tfport.serve.models.loading import session_opener

EXPORT = Path(__file__).parents[3] / "examples" / "attention"


@pytest.mark.parametrize(("prefer_lite", "kind"), [(False, "saved_model"), (True, "lite")])
def test_a_version_with_two_models_has_the_preferred_one(tmp_path, prefer_lite, kind):
    shutil.copytree(EXPORT, tmp_path / "1")
    (tmp_path / "1" / "model.tflite").write_bytes(case("ADD", f32(1, 2), f32(3, 4)).model)
    session = session_opener(prefer_lite=prefer_lite)(str(tmp_path / "1"), ModelSettings("m", str(tmp_path)))
    assert session.model.format.key == kind


def test_a_version_with_a_lite_model_is_served(tmp_path):
    (tmp_path / "model.tflite").write_bytes(case("ADD", f32(1, 2), f32(3, 4)).model)
    session = session_opener()(str(tmp_path), ModelSettings("m", str(tmp_path)))
    answer = session.signature("serving_default")(in0=f32(1, 2), in1=f32(3, 4))
    np.testing.assert_array_equal(answer["out0"], [4, 6])
