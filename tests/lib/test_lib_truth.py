"""Diagnoses of libraries agree with what real TensorFlow releases did.

`tests/libraries/outcomes.json` has libraries and ways to load them, each with what
`tf.load_op_library` did on TensorFlow 2.21.0. `pairs.json.xz` has what many releases did with
the libraries of real wheels; `wheels.tar.xz` has the parts of them that the loader reads.
"""

import json
import os
import re
import shutil
import tarfile
from pathlib import Path

import pytest
from tests.compact_json import read_json
from tests.recorded_models import graph

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.symbols import symbols
from tfport.formats.elf.library import X86
from tfport.graph.build import graph_to_def
from tfport.lib.diagnosis import FAILS, LOADS, UNKNOWN, diagnose
from tfport.lib.host_system import this_machine
from tfport.lib.origin import FRAMEWORK_ONLY
from tfport.lib.subject import LibrarySubject, LoadOptions

FOLDER = Path(__file__).parents[1] / "libraries"
RECORDED = json.loads((FOLDER / "outcomes.json").read_text())
OUTCOMES = RECORDED["outcomes"]
UNDECIDABLE = {
    "throws": "whether an initializer throws is known only by running it",
}
pytestmark = pytest.mark.skipif(this_machine() != X86, reason="the outcomes were recorded on x86-64")


@pytest.fixture
def target():
    (target_of_record,) = resolve_targets(f"tensorflow=={RECORDED['tensorflow']}")
    return target_of_record


def diagnose_case(case, target, tmp_path, monkeypatch):
    """Diagnose a case as it was loaded: working directory, name and library path."""
    outcome = OUTCOMES[case]
    load, path = outcome["load"], FOLDER / outcome["file"]
    folder = path.parent
    if "mode" in load:
        copy = tmp_path / f"{case}.so"
        shutil.copy(path, copy)
        path = copy
        if not int(str(load["mode"]), 8) & 0o004:
            monkeypatch.setattr(os, "access", lambda name, mode: False)
    name = load.get("path", str(path))
    here = (folder / load["folder"]).resolve() if "folder" in load else folder
    monkeypatch.chdir(here if here.is_dir() else FOLDER)
    library_path = [str(folder / load["library_path"])] if "library_path" in load else []
    subject = LibrarySubject(name, name, LoadOptions(library_path=library_path, machine=X86, literal=True))
    return diagnose(subject, target), subject, path


CASES = [pytest.param(case, id=case) for case in OUTCOMES if case not in UNDECIDABLE]


@pytest.mark.parametrize("case", CASES)
def test_the_verdict_is_the_recorded_outcome(case, target, tmp_path, monkeypatch):
    result, _, _ = diagnose_case(case, target, tmp_path, monkeypatch)
    assert result.verdict == (LOADS if OUTCOMES[case]["loads"] else FAILS), result.findings


def without_package(message):
    """A message without the folder of TensorFlow's package, which is unknown for a release."""
    return re.sub(r"TENSORFLOW/(\S*/)?", "", message)


@pytest.mark.parametrize("case", [c for c in OUTCOMES if c not in UNDECIDABLE and OUTCOMES[c].get("says")])
def test_the_message_is_the_recorded_message(case, target, tmp_path, monkeypatch):
    result, _, path = diagnose_case(case, target, tmp_path, monkeypatch)
    message = OUTCOMES[case]["says"].replace("LIBRARIES/good/no_permission.so", str(path))
    message = message.partition("; in OpDef:")[0]  # releases print the definition differently
    said = result.says and result.says.removeprefix("/usr")  # where newer systems say that /lib/… is
    assert said == without_package(message).replace("LIBRARIES", str(FOLDER))


@pytest.mark.parametrize(
    "case", [c for c in OUTCOMES if c not in UNDECIDABLE and OUTCOMES[c].get("registers")]
)
def test_registrations_are_read_from_the_code(case, target, tmp_path, monkeypatch):
    _, subject, _ = diagnose_case(case, target, tmp_path, monkeypatch)
    registers = OUTCOMES[case]["registers"]
    assert set(registers["ops"]) <= set(subject.registered.op_names)
    assert {(k["op"], k["device_type"]) for k in registers["kernels"]} <= {
        (k.op, k.device) for k in subject.registered.kernels
    }


PAIRS = read_json(FOLDER / "pairs.json.xz")
RELEASES = [release for release in PAIRS["releases"] if not release.endswith("-cp36")]
"""For 1.14 the symbols for Python 3.7 are recorded; those for 3.6 have the other C++ ABI."""


CHECKED_WITH = ["2.8.4", "2.15.1", "2.21.0"]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    with tarfile.open(FOLDER / "wheels.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.skipif(
    not any(name.endswith(FRAMEWORK_ONLY) for name in symbols().builds),
    reason="symbols.sqlite does not record the symbols of libtensorflow_framework alone",
)
@pytest.mark.parametrize("name", PAIRS["libraries"])
def test_the_verdicts_of_many_releases_are_the_recorded_outcomes(name, wheels):
    path = name.replace("WHEELS", str(wheels)).replace("LIBRARIES", str(FOLDER))
    subject = LibrarySubject(name, path, LoadOptions(machine=X86, python="3.7"))
    for release, outcome in PAIRS["libraries"][name]["outcomes"].items():
        if release not in RELEASES:
            continue
        (target,) = resolve_targets(f"tensorflow=={release.partition('-')[0]}")
        result = diagnose(subject, target)
        if result.verdict == UNKNOWN and any(f.code == "TFP438" for f in result.findings):
            continue  # the file does not show which of two layouts it has
        assert result.verdict == (LOADS if outcome["loads"] else FAILS), release
        if outcome.get("says"):
            assert result.says == without_package(outcome["says"]), release


@pytest.mark.parametrize("name", PAIRS["libraries"])
def test_no_verdict_is_wrong_if_the_machine_is_unknown(name, wheels):
    """The libraries of TensorFlow and of the system bring symbols that a library does not link to."""
    path = name.replace("WHEELS", str(wheels)).replace("LIBRARIES", str(FOLDER))
    options = LoadOptions(machine=X86, python="3.7", use_this_machine=False)
    subject = LibrarySubject(name, path, options)
    for release in CHECKED_WITH:
        (target,) = resolve_targets(f"tensorflow=={release}")
        loads = PAIRS["libraries"][name]["outcomes"][release]["loads"]
        assert diagnose(subject, target).verdict in (UNKNOWN, LOADS if loads else FAILS), release


PLAIN = graph_to_def(graph("x = Placeholder() {dtype=float32, shape=(2,)}\ny = Neg(x) {T=float32}"))


@pytest.mark.parametrize("name", PAIRS["libraries"])
def test_check_with_the_library_says_what_was_recorded(name, wheels):
    path = name.replace("WHEELS", str(wheels)).replace("LIBRARIES", str(FOLDER))
    outcomes = {r: o for r, o in PAIRS["libraries"][name]["outcomes"].items() if r in CHECKED_WITH}
    targets = [f"tensorflow=={release}" for release in outcomes]
    report = tfport.check(tfport.load(PLAIN.SerializeToString()), on=targets, device="cpu", libraries=[path])
    for result, (release, outcome) in zip(report.results, outcomes.items(), strict=True):
        note = result.target.notes[-1]
        words = "loads on" if outcome["loads"] else "does not load on"
        assert note.startswith(f"{Path(path).name} {words} tensorflow {release}") or "TFP438" in note


def test_few_crash_although_all_symbols_exist():
    """The memory layout of classes differs, which no symbol shows."""
    outcomes = [o for library in PAIRS["libraries"].values() for o in library["outcomes"].values()]
    assert len([1 for outcome in outcomes if "ends_process" in outcome]) * 100 < len(outcomes)
