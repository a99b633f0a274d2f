"""Every finding has a page, is decided for every loader, and its `## Example` is run and reports it."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.recorded_models import graph

import tfport
from tfport.check.findings.finding import ANSWERS, FINDINGS, all_findings
from tfport.check.loader_stages import FIRST, LIVE, LOAD, LOADING, PATHS, REACHED, RUN, SKIPPED, Noticed
from tfport.cli.main import main
from tfport.formats.elf.library import X86
from tfport.graph.build import graph_to_def
from tfport.lib.host_system import this_machine
from tfport.registry.unresolved import Question

ROOT = Path(__file__).parents[3]
CODES = all_findings()
SETTINGS = ("on", "loader", "producer", "min_consumer", "bad_consumers", "op")
STAGES = {LOAD, RUN, LIVE, REACHED, LOADING, FIRST, SKIPPED, None}
COMMAND = "tfport "


def example_of(code: str) -> str:
    match = re.search(r"## Example\n(.*)", CODES[code].page, re.DOTALL)
    assert match, f"{code} has no example"
    return re.sub(r"\\\n\s*", "", match[1])


@pytest.mark.parametrize("code", CODES)
def test_a_page_has_a_cause_a_fix_and_an_example(code):
    page = CODES[code].page
    assert re.findall("^## (.*)", page, re.MULTILINE) == ["Cause", "Fix", "Example"]
    assert CODES[code].title[-1] != "."
    assert all(len(line) <= 96 for line in page.splitlines())


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("path", PATHS)
def test_every_loader_is_decided_for_every_code(code, path):
    noticed = CODES[code].noticed
    for declared in [noticed] if isinstance(noticed, Noticed) else noticed.values():
        stages = declared.stages(path)
        assert len(stages) == 3
        assert STAGES.issuperset(stages)
        assert STAGES.issuperset(declared.earliest(path))


def test_every_question_of_the_registry_is_answered():
    assert set(ANSWERS.all()) == {question.name for question in Question}


@pytest.mark.parametrize("question", Question, ids=lambda question: question.name)
def test_all_classes_that_answer_a_question_are_noticed_by_the_same_loaders(question):
    first, *others = (declared.noticed[question] for declared in ANSWERS.of(question.name))
    assert all(noticed == first for noticed in others)


@pytest.mark.parametrize("code", CODES)
def test_the_example_of_a_page_reports_the_finding(code, tmp_path, monkeypatch, capsys):
    example = example_of(code)
    if CODES[code].is_about_library() and this_machine() != X86:
        pytest.skip("the libraries of this machine count, and the examples are for x86-64")
    for name in ("examples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    if COMMAND in example:
        assert code in reported(example, capsys, monkeypatch)
    else:
        assert code in checked([line.strip() for line in example.splitlines()])


def reported(script: str, capsys, monkeypatch) -> set[str]:
    """The codes that the last line of a shell script reports, run after the lines before it."""
    *lines, command = script.strip().splitlines()
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)  # scripts call `python`
    folder = subprocess.run(
        ["bash", "-e"], input="\n".join([*lines, "pwd"]), text=True, stdout=subprocess.PIPE
    )
    folder.check_returncode()
    monkeypatch.chdir(folder.stdout.strip().splitlines()[-1])
    main([*shlex.split(command.strip().removeprefix(COMMAND)), "--json"])
    report = json.loads(capsys.readouterr().out)
    if "risks" in report:
        return {risk["code"] for risk in report["risks"]}
    results = [result for part in report.get("libraries", [report]) for result in part["results"]]
    return {finding["code"] for result in results for finding in result["findings"]}


def checked(lines: list[str]) -> set[str]:
    """The codes that are noticed in a graph with the settings of the example; without a target, by a scan."""
    pairs = (line.split(" ", 1) for line in lines)
    settings = {name: value for name, value in pairs if name in SETTINGS}
    nodes = [line for line in lines if line.split(" ", 1)[0] not in SETTINGS]
    record = graph_to_def(graph("\n".join(nodes)))
    record.versions.producer = int(settings.get("producer", 2474))
    record.versions.min_consumer = int(settings.get("min_consumer", 0))
    record.versions.bad_consumers.extend(map(int, settings.get("bad_consumers", "").split()))
    if "on" not in settings:
        return {risk.code for risk in tfport.scan(record.SerializeToString()).risks}
    registry = tfport.Registry()
    if "op" in settings:
        registry.op(settings["op"])
    report = tfport.check(
        record.SerializeToString(),
        on=settings["on"],
        loader=settings.get("loader", "capi"),
        registry=registry,
    )
    return {finding.code for finding in report.findings if finding.stage}


def test_codes_and_names_are_unique():
    assert all(len(classes) == 1 for classes in FINDINGS.entries.values())
    assert len({declared.name for declared in CODES.values()}) == len(CODES) == 192
    assert all(re.fullmatch(r"TFP\d{3}", code) for code in CODES)


def test_the_pages_in_docs_are_current():
    program = (
        "import json, sys; sys.path.append('tools'); import code_pages; print(json.dumps(code_pages.pages()))"
    )
    made = subprocess.run([sys.executable, "-c", program], cwd=ROOT, text=True, stdout=subprocess.PIPE)
    written = {page.name: page.read_text() for page in (ROOT / "docs/codes").glob("*.md")}
    assert written == json.loads(made.stdout), "run `make docs-refresh`"


def test_a_check_imports_only_the_findings_that_it_needs():
    program = (
        "import sys, tfport; report = tfport.check('examples/attention', on='tensorflow==2.8.4'); "
        "print(report.verdict, *(m for m in sys.modules if m.startswith('tfport.check.findings.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, text=True, stdout=subprocess.PIPE)
    verdict, *modules = done.stdout.split()
    assert verdict == "runs"
    assert "tfport.check.findings.files" in modules
    unneeded = ("attributes", "inputs", "kernels", "ops", "own_runtime", "library_symbols")
    assert not [name for name in unneeded if f"tfport.check.findings.{name}" in modules]
