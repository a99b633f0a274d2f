"""tfport reads every recorded model as the TensorFlow that wrote it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compact_json import read_json
from tests.model_facts import differences, model_facts

MODELS = Path(__file__).parent / "models"
EXPECTED = read_json(MODELS / "expected.json.xz")["models"]


@pytest.mark.parametrize("name", EXPECTED)
def test_tfport_reads_what_tensorflow_reads(name):
    path = MODELS / name / EXPECTED[name]["file"]
    assert sorted(differences(EXPECTED[name], model_facts(path))) == []


def test_a_different_answer_is_noticed():
    expected = EXPECTED["frozen"]
    assert list(differences(expected, model_facts(MODELS / "frozen_text" / "graph.pbtxt"))) == []
    assert any(differences(expected, model_facts(MODELS / "loops" / "graph.pb")))
