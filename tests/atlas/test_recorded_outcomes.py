"""The example model: what real releases did with it agrees with what they register."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from tfport.atlas.known_ops import known_ops

MODEL = Path(__file__).parents[2] / "examples/attention"
RECORDED = json.loads(MODEL.with_name("attention.recorded.json").read_text())


def order(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def test_the_record_is_of_this_model():
    files = {str(path.relative_to(MODEL)): path for path in MODEL.rglob("*") if path.is_file()}
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    assert digests == RECORDED["model"]


@pytest.mark.parametrize("seen", RECORDED["outcomes"], ids=lambda seen: seen["release"])
def test_it_runs_from_the_first_release_that_has_its_newest_op(seen):
    first, _ = known_ops().releases("BatchMatMulV2")
    runs = order(seen["release"]) >= order(first)
    assert seen["outcome"] == ("runs" if runs else "fails at load")
    assert re.findall("Op type not registered '(.*?)'", seen["says"]) == ([] if runs else ["BatchMatMulV2"])


def test_all_releases_that_run_it_return_the_same_answer():
    scores = [seen["outputs"]["scores"] for seen in RECORDED["outcomes"] if seen["outcome"] == "runs"]
    for others in scores:
        for row, expected in zip(others, scores[-1], strict=True):
            assert row == pytest.approx(expected, rel=1e-6)
