"""What `check` says that `fix` does, `fix` does: both are run on the corpus of models that fail somewhere."""

import re

import pytest
from tests.odd_names import odd_name
from tests.truth_models import TRUTH, read_questions

import tfport
from tfport.check.findings.finding import Finding

PROMISE = re.compile(r"the outputs do not need this: `tfport fix|^`tfport fix` (?!tries)")
CASES = {
    name: question["path"] for name, question in sorted(read_questions(TRUTH / "questions.json").items())
}
EVERY = 9
TARGETS = ("tensorflow==1.12.3", "tensorflow==2.8.4")


def promised(report) -> list[Finding]:
    """The findings whose advice says what `fix` does; "tries to rewrite it" promises nothing."""
    every = [finding for result in report.results for finding in result.findings]
    return [finding for finding in every if any(map(PROMISE.search, finding.fixes()))]


def not_kept(path, target) -> list[str]:
    findings = promised(tfport.check(path, on=target))
    if not findings:
        return []
    fixed = tfport.fix(path, on=target, compare=False)
    left = [] if fixed.model is not None else list(map(str, fixed.remaining))
    return [f"{f.code} {f.message}" for f in findings if any(f.code in text for text in left)]


def test_fix_does_what_check_says_on_the_corpus_of_broken_models():
    kept = 0
    broken = {}
    for name, path in list(CASES.items())[::EVERY]:
        for target in TARGETS:
            try:
                kept += bool(promised(tfport.check(path, on=target)))
            except tfport.Error:
                continue
            if wrong := not_kept(path, target):
                broken[name, target] = wrong
    assert broken == {}
    assert kept >= 3


@pytest.mark.parametrize("name", ["my input", "a:b"])
def test_a_placeholder_that_is_fed_is_needed(tmp_path, name):
    """It was said to be unneeded, since a fed node does not run, and `fix` then wrote nothing."""
    path = odd_name(tmp_path / "odd.pb", ("Placeholder", name), ("Relu", "out"))
    (finding,) = tfport.check(path, on="tensorflow==2.8.4").results[0].findings
    assert finding.code == "TFP013"
    assert not any("do not need" in way for way in finding.fixes())


def test_weights_without_an_architecture_are_not_promised_a_rewrite():
    """It was said that `fix` tries to rewrite the file, which it refuses."""
    path = "tests/check/keras/files/only_weights.h5"
    (finding,) = tfport.check(path, on="keras==3.15.1").findings
    (advice,) = finding.ways_out
    assert f"--weights {path}" in advice
    with pytest.raises(tfport.Error, match="weights but no architecture"):
        tfport.fix(path, on="keras==3.15.1")
