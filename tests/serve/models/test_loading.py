"""Which file of a version is opened, and how."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.frontends.lite.cases import case
from tests.recorded_models import MODELS
from tests.runtime.cases import f32

from tfport.runtime.plan import Plan
from tfport.runtime.stored.stored_island import StoredPlan
from tfport.serve.models.config import ModelSettings
from tfport.serve.models.loading import prepare, session_opener

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


def test_with_a_cache_the_second_start_reads_the_prepared_model(tmp_path, monkeypatch):
    monkeypatch.setenv("TFPORT_CACHE", str(tmp_path / "cache"))
    folder = str(shutil.copytree(MODELS / "keras_sequential", tmp_path / "1"))
    plans = []
    for _ in range(2):
        session = session_opener(cache=True)(folder, ModelSettings("m", folder))
        prepare(session)
        plans.append(session.plans.plans[0])
    assert [type(plan) for plan in plans] == [Plan, StoredPlan]
    x = np.float32([[1, 2, 3]])
    np.testing.assert_array_equal(*(plan.run([x]) for plan in plans))
