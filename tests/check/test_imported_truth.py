"""`check --fetch` predicts what sessions of real releases did with graphs that Python imported.

`tests/truth/imported.json` was recorded by `tools/truth/record_imported.py`: each problem in a node that is
fetched and in one that is not, with and without `place_pruned_graph`.
"""

import json
from pathlib import Path

import pytest
from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def

RECORDED = json.loads((Path(__file__).parents[1] / "truth/imported.json").read_text())
PAIRS = [(release, case) for release, outcomes in RECORDED["outcomes"].items() for case in outcomes]
PLAIN = [pair for pair in PAIRS if not pair[1].endswith("pruned")]


def checked(release, case):
    question = RECORDED["cases"][case]
    model = tfport.load(graph_to_def(graph(question["graph"])).SerializeToString())
    on = f"tensorflow=={release}"
    return tfport.check(model, on=on, device="cpu", loader="python", fetches=question["fetches"])


@pytest.mark.parametrize(("release", "case"), PLAIN)
def test_a_session_does_what_check_predicts(release, case):
    outcome = RECORDED["outcomes"][release][case]
    report = checked(release, case)
    assert (report.verdict, report.results[0].stage) == (
        "fails" if outcome["stage"] else "runs",
        outcome["stage"],
    )


@pytest.mark.parametrize(("release", "case"), PLAIN)
def test_the_advice_to_place_only_what_runs_helps(release, case):
    fixes = " ".join(way for finding in checked(release, case).findings for way in finding.ways_out)
    helps = RECORDED["outcomes"][release][case]["stage"] == "run"
    helps &= RECORDED["outcomes"][release][f"{case}, pruned"]["stage"] is None
    assert ("place_pruned_graph" in fixes) == helps


def test_enough_was_recorded():
    assert len(RECORDED["outcomes"]) >= 4
    assert len(PLAIN) >= 60
