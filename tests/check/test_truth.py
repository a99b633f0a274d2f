"""tfport gives the same verdict as the real binary, for every recorded pair of model and release.

`tests/truth/outcomes.json.xz` has what each release did through the C API and in Python (`make truth` records
it again); `beyond.toml` lists what cannot be decided without computing, each with its reason.
"""

import functools
import re
import tomllib
from fnmatch import fnmatchcase

import pytest
from tests.truth_models import TRUTH, read_questions
from tests.truth_outcomes import group_of, read_small_model_outcomes

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.check import Result, check_on
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding

RECORDS = read_small_model_outcomes()
BEYOND = tomllib.loads((TRUTH / "beyond.toml").read_text())
LEFT_OUT = [case for kind in ("shapes", "values", "damaged", "odd") for case in BEYOND[kind]]
REDUCED = f"{TRUTH / 'reduced/ops_to_register.h'}@tensorflow==1.4.1"
COUNTS = (68, 32, 1345, 57449)
"""Records, releases, cases, and pairs of a case and a loader in a record."""
GPU, GPU_SOFT = "gpu", "gpu_soft"
"""Groups of records of a machine with a GPU, the second with soft placement."""
NAMED = [  # messages of TensorFlow with the op or attribute that they name
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
    return read_questions(TRUTH / "questions.json") | read_questions(TRUTH / "keras/questions.json")


@functools.cache
def checked(case: str) -> CheckedModel | tfport.Error:
    question = questions()[case]
    try:
        model = tfport.load(question["path"])
    except tfport.Error as error:
        return error
    signatures = [name for name in question["signatures"] if name in model.signatures]
    return CheckedModel(model, signatures or None, checksums=True)


def noticed(result: Result) -> list[Finding]:
    return [finding for finding in result.findings if finding.stage is not None]


def disagreement(case: str, target, loader: str, outcome: dict, soft: bool | None) -> str | None:
    """How tfport differs from the binary; None where it does not."""
    model = checked(case)
    if isinstance(model, tfport.Error):
        return None if outcome["stage"] == "load" else f"tfport cannot read it: {model}"
    (result,) = check_on(model, target, [loader], soft_placement=soft)
    if result.verdict == "unknown":
        return None if matches(case, BEYOND["unknown"]) else f"unknown; it {verdict(outcome)}"
    if (result.verdict, result.stage) != ("fails" if outcome["stage"] else "runs", outcome["stage"]):
        return f"{result.verdict} {result.stage}; it {verdict(outcome)}"
    return misnamed(result, outcome["message"])


def verdict(outcome: dict) -> str:
    return f"fails {outcome['stage']}: {outcome['message'][:200]}" if outcome["stage"] else "runs"


def misnamed(result: Result, message: str) -> str | None:
    """Why the findings are wrong if none names the op or attribute that TensorFlow names."""
    for pattern in NAMED:
        if match := re.search(pattern, message):
            for field, name in match.groupdict().items():
                if field != "device" and name not in {getattr(f, field) for f in result.findings}:
                    return f"no finding names the {field} {name}: {message[:200]}"
            if "device" in match.groupdict() and not any(f.code == "TFP303" for f in noticed(result)):
                return f"no finding names the device {match['device']}"
            return None
    return None


def target_of(record: dict, name: str):
    text = REDUCED if "reduced" in name else f"{record['package']}=={record['version']}"
    return resolve_targets(text, device="gpu" if group_of(name) in (GPU, GPU_SOFT) else "cpu")[0]


def matches(case: str, patterns) -> bool:
    """Whether a case matches a pattern; a pattern with `@` also names the record."""
    alone = case.partition("@")[0]
    return any(fnmatchcase(case if "@" in pattern else alone, pattern) for pattern in patterns)


@pytest.mark.parametrize("name", RECORDS)
def test_every_release_does_what_tfport_predicts(name: str):
    record = RECORDS[name]
    target, soft = target_of(record, name), group_of(name) == GPU_SOFT or None
    disagreements = {
        f"{case} [{loader}]": difference
        for case, outcomes in record["outcomes"].items()
        for loader, outcome in outcomes.items()
        if not matches(f"{case}@{name}", LEFT_OUT)
        if (difference := disagreement(case, target, loader, outcome, soft))
    }
    assert not disagreements, "\n".join(f"{pair}: {text}" for pair, text in disagreements.items())


def test_every_case_is_recorded_in_every_group():
    """The numbers are exact: a case or a release that is lost must be noticed."""
    pairs = [
        (name, case, loader)
        for name, record in RECORDS.items()
        for case, outcomes in record["outcomes"].items()
        for loader in outcomes
    ]
    releases = {record["version"] for record in RECORDS.values()}
    assert {case for _, case, _ in pairs} == set(questions())
    assert (len(RECORDS), len(releases), len(questions()), len(pairs)) == COUNTS


@pytest.mark.parametrize("kind", BEYOND)
def test_every_exception_matches_a_case_and_has_a_reason(kind):
    patterns = [pattern.partition("@")[0] for pattern in BEYOND[kind]]
    assert all(any(fnmatchcase(case, pattern) for case in questions()) for pattern in patterns)
    assert all(reason.endswith(".") for reason in BEYOND[kind].values())
