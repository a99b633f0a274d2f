"""tfport reads what the installed TensorFlow writes as it reads the recorded copies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.live import facts, models
from tests.model_facts import differences, model_facts


def write_and_describe(name: str) -> None:
    path = models.write(name, Path(name))
    Path("answer.json").write_text(facts.as_json({"path": str(path), **facts.facts(path)}))


@pytest.mark.parametrize("name", [build.__name__ for build, _ in models.MODELS])
def test_tfport_says_what_tensorflow_says(name, tmp_path):
    assert models.in_own_process(tmp_path, write_and_describe, name)
    expected = json.loads((tmp_path / "answer.json").read_text())
    path = tmp_path / expected.pop("path")
    assert sorted(differences(expected, model_facts(path))) == []
