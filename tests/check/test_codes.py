"""Every finding has a page, and what stands under `## Example` on it is checked."""

import re

import pytest
from tests.recorded_models import graph

import tfport
import tfport.check.check
from tfport.check.findings.finding import CODES
from tfport.graph.build import graph_to_def

WORDS = ("on", "loader", "producer", "min_consumer", "bad_consumers", "op")
SECTIONS = {"## Cause", "## Fix"}


def example_of(code: str) -> list[str]:
    found = re.search(r"## Example\n(.*)", CODES[code].page, re.DOTALL)
    return [line.strip() for line in found[1].splitlines()] if found else []


def settings(lines: list[str]) -> dict[str, str]:
    pairs = (line.split(" ", 1) for line in lines)
    return {name: value for name, value in pairs if name in WORDS}


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_page_says_the_cause_and_what_to_do(code):
    page = CODES[code].page
    assert set(re.findall("^## .*", page, re.MULTILINE)) >= SECTIONS
    assert CODES[code].title[-1] != "."
    assert all(len(line) <= 90 for line in page.splitlines())


@pytest.mark.parametrize("code", sorted(code for code in CODES if example_of(code)))
def test_the_example_of_a_page_has_the_finding(code):
    lines = example_of(code)
    told = settings(lines)
    record = graph_to_def(graph("\n".join(line for line in lines if line.split(" ", 1)[0] not in WORDS)))
    record.versions.producer = int(told.get("producer", 2474))
    record.versions.min_consumer = int(told.get("min_consumer", 0))
    record.versions.bad_consumers.extend(map(int, told.get("bad_consumers", "").split()))
    registry = tfport.Registry()
    if "op" in told:
        registry.op(told["op"])
    loader = told.get("loader", "capi")
    report = tfport.check(record.SerializeToString(), on=told["on"], loader=loader, registry=registry)
    assert code in {finding.code for finding in report.findings if finding.stage}


def test_codes_and_names_are_told_apart():
    names = [found.name for found in CODES.values()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"TFP\d{3}", code) for code in CODES)
