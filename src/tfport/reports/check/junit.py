"""The JUnit XML report format, for CI servers: a suite for each model, a case for each target and loader.

A failing check is a failure, an unknown verdict is skipped, an unreadable model is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tfport.check.check import FAILS, RUNS, Result
from tfport.check.check_report import CheckReport
from tfport.check.findings.finding import ERROR, NOTE, Finding
from tfport.rendering import JUNIT, RenderedResult, rendered, renderer_of
from tfport.reports.check.formats import ReportFormat, report_format
from tfport.reports.check.phrases import nodes_text, verdict_text
from tfport.scan.scan import ScanReport
from tfport.words import printable

KINDS = {"failures": "failure", "errors": "error", "skipped": "skipped"}
MOST_NODES = 20


@renderer_of(CheckReport, JUNIT)
def check_part(report: CheckReport) -> Element:
    """The test suite of a check of one model."""
    suite = Element("testsuite", name=printable(report.model))
    for result in report.results:
        for loader in result.loaders:
            _case(suite, report.model, f"{result.target.requirement} {result.target.device} {loader}", result)
    return _counted(suite)


@renderer_of(ScanReport, JUNIT)
def scan_part(report: ScanReport) -> Element:
    """The test suite of a scan of one model: a case for each finding above a note, or one that passes."""
    suite = Element("testsuite", name=printable(report.model))
    risks = [risk for risk in report.risks if risk.severity != NOTE]
    for risk in risks:
        case = SubElement(suite, "testcase", classname=printable(report.model), name=printable(risk.message))
        failure = SubElement(case, "failure", type=risk.severity, message=printable(risk.message))
        failure.text = "\n".join(_lines(risk))
    if not risks:
        SubElement(suite, "testcase", classname=printable(report.model), name="scan")
    return _counted(suite)


def unreadable(model: str, why: str) -> Element:
    suite = Element("testsuite", name=printable(model))
    case = SubElement(suite, "testcase", classname=printable(model), name="read")
    SubElement(case, "error", type="unreadable", message=printable(why))
    return _counted(suite)


def whole(parts: Sequence[Element], command: str) -> str:
    top = Element("testsuites", name=f"tfport {command}")
    top.extend(parts)
    for kind in ("tests", *KINDS):
        top.set(kind, str(sum(int(suite.get(kind, 0)) for suite in parts)))
    indent(top, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(top, encoding="unicode") + "\n"


def _case(suite: Element, model: str, name: str, result: Result) -> None:
    case = SubElement(suite, "testcase", classname=printable(model), name=printable(name))
    if result.verdict == RUNS:
        return
    errors = [finding for finding in result.findings if finding.severity == ERROR]
    message = "; ".join(printable(finding.message) for finding in errors)
    if result.verdict == FAILS:
        failure = SubElement(case, "failure", type=verdict_text(result), message=message)
        failure.text = "\n".join(line for finding in errors for line in _lines(finding))
    else:
        SubElement(case, "skipped", message=message)


def _lines(finding: Finding) -> list[str]:
    nodes = [f"  {nodes_text(finding.nodes, MOST_NODES)}"] if finding.nodes else []
    cause = [f"  cause: {finding.cause()}"] if finding.cause() else []
    doubt = [f"  doubt: {finding.doubt}"] if finding.doubt else []
    says = [f"  says: {finding.tensorflow_says}"] if finding.on and finding.tensorflow_says else []
    fixes = [f"  fix: {fix}" for fix in [*finding.fixes(), *finding.ways_out]]
    head = f"{finding.severity}[{finding.code}]: {finding.message}"
    return [printable(line) for line in [head, *nodes, *cause, *doubt, *says, *fixes]]


def _counted(suite: Element) -> Element:
    cases = list(suite)
    suite.set("tests", str(len(cases)))
    for kind, element in KINDS.items():
        suite.set(kind, str(sum(case.find(element) is not None for case in cases)))
    return suite


@report_format("junit")
class JunitFormat(ReportFormat):
    """JUnit XML for CI servers."""

    def part(self, report: RenderedResult) -> Element:
        suite: Element = rendered(report, JUNIT)
        return suite

    def unreadable(self, model: str, why: str) -> Element:
        return unreadable(model, why)

    def whole(self, parts: Sequence[Element]) -> str:
        return whole(parts, self.layout.command)
