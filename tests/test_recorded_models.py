"""tfport reads every recorded model as the TensorFlow that wrote it does."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compact_json import read_json
from tests.told import differences, told

MODELS = Path(__file__).parent / "models"
EXPECTED = read_json(MODELS / "expected.json.xz")["models"]


@pytest.mark.parametrize("name", EXPECTED)
def test_tfport_says_what_tensorflow_says(name):
    path = MODELS / name / EXPECTED[name]["file"]
    assert sorted(differences(EXPECTED[name], told(path))) == []


def test_a_different_answer_is_noticed():
    expected = EXPECTED["frozen"]
    assert list(differences(expected, told(MODELS / "frozen_text" / "graph.pbtxt"))) == []
    assert any(differences(expected, told(MODELS / "loops" / "graph.pb")))
