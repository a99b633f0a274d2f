"""The same verdict as the real binary: every pair of model and release that was watched.

`tests/truth/outcomes.json.xz` has what each release did through the C API and in Python (`make truth` records
it again); `beyond.toml` lists what cannot be decided without computing, each
with its reason.
"""

import functools
import json
import re
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from tests.truth_outcomes import read_small_model_outcomes

import tfport
from tfport.atlas.target import resolve_targets
from tfport.check.check import Result, check_on
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding

TRUTH = Path(__file__).parents[1] / "truth"
RECORDS = read_small_model_outcomes()
BEYOND = tomllib.loads((TRUTH / "beyond.toml").read_text())
LEFT_OUT = [case for kind in ("shapes", "values", "damaged", "odd") for case in BEYOND[kind]]
REDUCED = f"{TRUTH / 'reduced/ops_to_register.h'}@tensorflow==1.4.1"
NAMED = [  # what TensorFlow says: the op that it names, the attribute that it names
    r"Op type not registered '(?P<op>[^']+)'",
    r"No op named (?P<op>\S+) in defined operations",
    r"No OpKernel was registered to support Op '(?P<op>[^']+)'",
    r"No registered '(?P<op>[^']+)' OpKernel",
    r"Op (?P<op>\S+) is not available in GraphDef version",
    r"NodeDef mentions attr '(?P<attr>[^']+)' not in Op<name=(?P<op>[^;]+);",
    r"Value for attr '(?P<attr>[^']+)' of .* not in the list of allowed values",
    r"NodeDef missing attr '(?P<attr>[^']+)' from Op<name=(?P<op>[^;]+);",
    r"(?:Value|Length) for attr '(?P<attr>[^']+)' of \S+ must be at least minimum",
    r"explicitly assigned to (?P<device>\S+) but available devices",
]


@functools.cache
def questions() -> dict:
    found = json.loads((TRUTH / "questions.json").read_text())
    return found | json.loads((TRUTH / "keras/questions.json").read_text())


@functools.cache
def subject(case: str) -> CheckedModel | tfport.Error:
    asked = questions()[case]
    try:
        model = tfport.load(str(TRUTH.parents[1] / asked["path"]))
    except tfport.Error as error:
        return error
    signatures = [name for name in asked["signatures"] if name in model.signatures]
    return CheckedModel(model, signatures or None, checksums=True)


def noticed(result: Result) -> list[Finding]:
    return [finding for finding in result.findings if finding.stage is not None]


def disagreement(case: str, target, loader: str, said: dict) -> str | None:
    """How tfport differs from what the binary said; None where it does not."""
    about = subject(case)
    if isinstance(about, tfport.Error):
        return None if said["stage"] == "load" else f"tfport cannot read it: {about}"
    (result,) = check_on(about, target, [loader])
    if result.verdict == "unknown":
        return None if is_among(case, BEYOND["unknown"]) else f"unknown; it {verdict(said)}"
    if (result.verdict, result.stage) != ("fails" if said["stage"] else "runs", said["stage"]):
        return f"{result.verdict} {result.stage}; it {verdict(said)}"
    return misnamed(result, said["message"])


def verdict(said: dict) -> str:
    return f"fails {said['stage']}: {said['message'][:200]}" if said["stage"] else "runs"


def misnamed(result: Result, says: str) -> str | None:
    """Whether the op or attribute that TensorFlow names is in no finding."""
    for pattern in NAMED:
        if found := re.search(pattern, says):
            for what, name in found.groupdict().items():
                if what != "device" and name not in {getattr(f, what) for f in result.findings}:
                    return f"no finding names the {what} {name}: {says[:200]}"
            if "device" in found.groupdict() and not any(f.code == "TFP303" for f in noticed(result)):
                return f"no finding tells of the device {found['device']}"
            return None
    return None


def target_of(record: dict, name: str):
    text = REDUCED if "reduced" in name else f"{record['package']}=={record['version']}"
    return resolve_targets(text, device="cpu")[0]


def is_among(case: str, patterns) -> bool:
    """Whether a case, with the record it is of behind an `@` where that counts, is in a list."""
    alone = case.partition("@")[0]
    return any(fnmatchcase(case if "@" in pattern else alone, pattern) for pattern in patterns)


@pytest.mark.parametrize("name", RECORDS)
def test_every_release_does_what_tfport_says(name: str):
    record = RECORDS[name]
    target = target_of(record, name)
    found = {
        f"{case} [{loader}]": different
        for case, by_loader in record["outcomes"].items()
        for loader, said in by_loader.items()
        if not is_among(f"{case}@{name}", LEFT_OUT)
        if (different := disagreement(case, target, loader, said))
    }
    assert not found, "\n".join(f"{pair}: {different}" for pair, different in found.items())


def test_there_is_a_record_of_many_pairs():
    releases = {record["version"] for record in RECORDS.values()}
    cases = set().union(*(record["outcomes"] for record in RECORDS.values()))
    assert len(releases) >= 14
    assert len(cases) >= 60


@pytest.mark.parametrize("kind", BEYOND)
def test_what_is_beyond_is_said_of_cases_that_there_are(kind):
    named = [pattern.partition("@")[0] for pattern in BEYOND[kind]]
    assert all(any(fnmatchcase(case, pattern) for case in questions()) for pattern in named)
    assert all(reason.endswith(".") for reason in BEYOND[kind].values())
