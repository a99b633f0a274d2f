"""What tfport says of a library is what a real TensorFlow said when it was loaded.

`tests/libraries/outcomes.json` holds libraries and ways to load them, each with what
`tf.load_op_library` did on TensorFlow 2.21.0; `pairs.json.xz` what many releases did with the
libraries of real wheels, of which `wheels.tar.xz` has all that the loader reads.
"""

import json
import os
import shutil
import tarfile
from pathlib import Path

import pytest
from tests.compact_json import read_json

from tfport.atlas.symbols import symbols
from tfport.atlas.target import resolve_targets
from tfport.check.lib.diagnosis import FAILS, LOADS, UNKNOWN, LibrarySubject, LoadOptions, diagnose
from tfport.check.lib.host_system import this_machine
from tfport.check.lib.visible_symbols import FRAMEWORK_ONLY
from tfport.formats.elf.library import X86

FOLDER = Path(__file__).parents[2] / "libraries"
RECORDED = json.loads((FOLDER / "outcomes.json").read_text())
OUTCOMES = RECORDED["outcomes"]
UNDECIDABLE = {
    "throws": "an initialiser that throws is only known by running it",
}
pytestmark = pytest.mark.skipif(
    this_machine() != X86, reason="the machine that loads them is looked at, and is another"
)


@pytest.fixture
def target():
    (found,) = resolve_targets(f"tensorflow=={RECORDED['tensorflow']}")
    return found


def ask(case, target, tmp_path, monkeypatch):
    """As the case was loaded: from where, under which name, with which library path."""
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
def test_it_loads_or_fails_as_it_did(case, target, tmp_path, monkeypatch):
    result, _, _ = ask(case, target, tmp_path, monkeypatch)
    assert result.verdict == (LOADS if OUTCOMES[case]["loads"] else FAILS), result.findings


@pytest.mark.parametrize("case", [c for c in OUTCOMES if c not in UNDECIDABLE and OUTCOMES[c].get("says")])
def test_the_loader_says_what_it_said(case, target, tmp_path, monkeypatch):
    result, _, path = ask(case, target, tmp_path, monkeypatch)
    said = OUTCOMES[case]["says"].replace("LIBRARIES/good/no_permission.so", str(path))
    said = said.partition("; in OpDef:")[0]  # and the whole definition, which releases print differently
    assert result.says == said.replace("LIBRARIES", str(FOLDER))


@pytest.mark.parametrize(
    "case", [c for c in OUTCOMES if c not in UNDECIDABLE and OUTCOMES[c].get("registers")]
)
def test_what_it_registers_is_read_from_its_code(case, target, tmp_path, monkeypatch):
    _, subject, _ = ask(case, target, tmp_path, monkeypatch)
    registers = OUTCOMES[case]["registers"]
    assert set(registers["ops"]) <= set(subject.registered.op_names)
    assert {(k["op"], k["device_type"]) for k in registers["kernels"]} <= {
        (k.op, k.device) for k in subject.registered.kernels
    }


PAIRS = read_json(FOLDER / "pairs.json.xz")
RELEASES = [release for release in PAIRS["releases"] if not release.endswith("-cp36")]
"""Of 1.14 the symbols for Python 3.7 are recorded; those for 3.6 have the other ABI of C++."""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    with tarfile.open(FOLDER / "wheels.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.skipif(
    not any(name.endswith(FRAMEWORK_ONLY) for name in symbols().builds),
    reason="symbols.sqlite does not tell which symbols libtensorflow_framework has",
)
@pytest.mark.parametrize("name", PAIRS["libraries"])
def test_releases_load_it_or_say_why_not_as_they_did(name, wheels):
    path = name.replace("WHEELS", str(wheels)).replace("LIBRARIES", str(FOLDER))
    subject = LibrarySubject(name, path, LoadOptions(machine=X86, python="3.7"))
    for release, said in PAIRS["libraries"][name]["outcomes"].items():
        if release not in RELEASES:
            continue
        (target,) = resolve_targets(f"tensorflow=={release.partition('-')[0]}")
        result = diagnose(subject, target)
        if result.verdict == UNKNOWN and any(f.code == "TFP438" for f in result.findings):
            continue  # both fit by all that the file tells
        assert result.verdict == (LOADS if said["loads"] else FAILS), release
        if said.get("says"):
            assert result.says == said["says"], release


def test_few_end_the_process_though_all_symbols_are_there():
    """Classes are laid out differently, which no symbol tells."""
    said = [said for library in PAIRS["libraries"].values() for said in library["outcomes"].values()]
    assert len([1 for one in said if "ends_process" in one]) * 100 < len(said)
