"""The verdicts of `check` beside what real interpreters of many releases did with files."""

import json
import lzma
from collections import Counter

import pytest
from tests.check.lite.record_truth import RECORD, WAYS, rebuilt

from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.check import verdict_of
from tfport.check.lite.check_lite_file import lite_findings

KERNELS = (
    ".cc:",
    ".h ",
    "failed to prepare",
    "failed to reshape",
    "was not initialized",
    "unexpected number",
)
"""Parts of texts of kernels and delegates, which `check` does not simulate."""
CRASH = "crash"


@pytest.fixture(scope="module")
def compared():
    """For each file and interpreter: whether both agree, the real step and text, and the simulated text."""
    record = json.loads(lzma.decompress(RECORD.read_bytes()))
    targets = {}
    rows = []
    for file in record["files"]:
        lite = rebuilt(file)
        for key, number in file["outcomes"].items():
            if key not in targets:
                targets[key] = _target(*key.split())
            findings = lite_findings(lite, targets[key])
            step, text = record["texts"][number] or ("", "")
            verdict, stage = verdict_of(findings)
            said = next((f.says() or "" for f in findings if f.stage), "")
            rows.append(((verdict, stage) == _expected(step), step, text, said, verdict))
    return rows


def _target(environment, way):
    package, _, version = environment.rpartition("-")
    (target,) = resolve_targets(f"{package}=={version}", delegate=WAYS[way])
    return target


def _expected(step):
    return ("runs", None) if not step else ("fails", "load" if step == "load" else "run")


def test_verdicts_agree_with_real_interpreters(compared):
    agreed = Counter(agrees for agrees, *_ in compared)
    assert len(compared) > 8000
    assert agreed[True] / len(compared) > 0.98


def test_the_texts_are_those_of_the_interpreters(compared):
    refused = [(text, said) for agrees, step, text, said, _ in compared if agrees and step and step != CRASH]
    assert len(refused) > 1500
    assert [pair for pair in refused if not pair[1] or pair[1] not in pair[0]] == []


def test_what_is_not_foreseen_is_said_by_kernels(compared):
    missed = [text for agrees, step, text, _, verdict in compared if not agrees and verdict == "runs"]
    assert [text for text in missed if not any(part in text for part in KERNELS)] == []


def test_what_is_refused_too_early_are_flex_ops_after_dynamic_shapes(compared):
    """A node after one with a dynamic shape is prepared only when the model runs, after allocation."""
    early = [
        said for agrees, step, _, said, verdict in compared if not agrees and verdict != "runs" and not step
    ]
    assert all("TensorFlow op" in said or "Op type not registered" in said for said in early)
