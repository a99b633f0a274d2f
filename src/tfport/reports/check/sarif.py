"""The SARIF 2.1.0 report format, for code scanning: a rule for each code, a result for each finding.

Models have no lines, so a result refers to the model's file and names nodes and functions, or layers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tfport.check.check import Result
from tfport.check.check_report import CheckReport
from tfport.check.findings.finding import ERROR, Finding, function_of, model_findings, scan_findings
from tfport.check.findings.keras_files import KerasFileFinding
from tfport.graph.graph import Node
from tfport.rendering import SARIF, RenderedResult, rendered, renderer_of
from tfport.reports.check.formats import SCAN, ReportFormat, report_format
from tfport.scan.risk import Risk
from tfport.scan.scan import ScanReport

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
DOCUMENT = ("saved_model.pb", "saved_model.pbtxt", "model.json")
MOST_NODES = 10
Object = dict[str, Any]


@renderer_of(CheckReport, SARIF)
def check_part(report: CheckReport) -> Object:
    """The results of a check of one model."""
    file = _artifact(report.model)
    return {"results": [_checked(f, r, file, report.model) for r in report.results for f in r.findings]}


@renderer_of(ScanReport, SARIF)
def scan_part(report: ScanReport) -> Object:
    """The results of a scan of one model."""
    file = _artifact(report.model)
    return {"results": [_scanned(risk, file, report.model) for risk in report.risks]}


def unreadable(model: str, why: str) -> Object:
    """The notification about an unreadable model."""
    note = {"level": "error", "message": {"text": why}, "locations": [_location(_artifact(model))]}
    return {"notifications": [note]}


def whole(parts: Sequence[Object], rules: Mapping[str, type[Finding]]) -> str:
    """The log of a run over all models."""
    from importlib.metadata import version

    codes = list(rules)
    results = [
        {"ruleId": result["ruleId"], "ruleIndex": codes.index(result["ruleId"]), **result}
        for part in parts
        for result in part.get("results", ())
    ]
    notes = [note for part in parts for note in part.get("notifications", ())]
    run = {
        "tool": {
            "driver": {
                "name": "tfport",
                "version": version("tfport"),
                "rules": [_rule(declared) for declared in rules.values()],
            }
        },
        "invocations": [{"executionSuccessful": not notes, "toolExecutionNotifications": notes}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def _rule(kind: type[Finding]) -> Object:
    return {
        "id": kind.code,
        "name": "".join(word.capitalize() for word in kind.name.split("-")),
        "shortDescription": {"text": kind.name.replace("-", " ")},
        "fullDescription": {"text": kind.title},
        "help": {"text": kind.page, "markdown": kind.page},
        "defaultConfiguration": {"level": kind.default_severity if kind.decides else "warning"},
    }


def _checked(finding: Finding, result: Result, file: str, model: str) -> Object:
    target = result.target
    properties = {
        "model": model,
        "target": target.requirement,
        "device": target.device,
        "loaders": list(result.loaders),
        "verdict": result.verdict,
        "stage": finding.stage,
        "signatures": list(finding.signatures),
        "nodes": len(finding.nodes),
    }
    return _result(finding, file, (model, target.requirement, target.device), properties)


def _scanned(risk: Risk, file: str, model: str) -> Object:
    properties = {"model": model, "when": risk.moment, "nodes": len(risk.nodes)}
    return _result(risk, file, (model,), properties)


def _result(finding: Finding, file: str, subject: tuple[str, ...], properties: Object) -> Object:
    return {
        "ruleId": finding.code,
        "level": _level(finding),
        "message": {"text": _message(finding)},
        "locations": [_location(file, _parts(finding))],
        "partialFingerprints": {"tfport/v1": _fingerprint(finding, subject)},
        "properties": properties,
    }


def _level(finding: Finding) -> str:
    """The SARIF level; an error that leaves the verdict unknown is a warning."""
    is_open = finding.severity == ERROR and (finding.doubt or not finding.decides)
    return "warning" if is_open else finding.severity


def _message(finding: Finding) -> str:
    cause = [f"Cause: {text}."] if (text := finding.cause()) else []
    doubt = [f"Doubt: {finding.doubt}."] if finding.doubt else []
    fixes = [f"Fix: {fix}." for fix in [*finding.fixes(), *finding.ways_out]]
    return " ".join([f"{finding.message}.", *cause, *doubt, *fixes])


def _location(file: str, parts: Sequence[Object] = ()) -> Object:
    # code scanning requires a line for every result, and a graph has none
    place: Object = {"physicalLocation": {"artifactLocation": {"uri": file}, "region": {"startLine": 1}}}
    return {**place, "logicalLocations": parts} if parts else place


def _parts(finding: Finding) -> list[Object]:
    """The nodes of a finding, or the layer of a Keras file."""
    if isinstance(finding, KerasFileFinding) and finding.layer:
        return [{"name": finding.layer, "fullyQualifiedName": finding.layer, "kind": "object"}]
    return [_logical(node) for node in finding.nodes[:MOST_NODES]]


def _logical(node: Node) -> Object:
    function = function_of(node)
    full = f"{function}/{node.name}" if function else node.name
    return {"name": node.name, "fullyQualifiedName": full, "kind": "variable"}


def _fingerprint(finding: Finding, subject: tuple[str, ...]) -> str:
    """A value that is the same for the same finding in a later run."""
    identity = (*subject, finding.code, finding.op, finding.attr, finding.message)
    return hashlib.sha256(repr(identity).encode(errors="replace")).hexdigest()[:32]


def _artifact(model: str) -> str:
    """The file of a model, relative to the repository root, or to this folder if there is none."""
    file = Path(model)
    while not os.path.lexists(file) and file != file.parent:  # for a path in an archive, use the archive
        file = file.parent
    inside = (file / name for name in DOCUMENT)
    file = next((name for name in inside if name.is_file()), file)
    top = _repository(Path.cwd())
    try:
        return quote(file.resolve().relative_to(top.resolve()).as_posix())
    except ValueError:
        return file.resolve().as_uri()


def _repository(folder: Path) -> Path:
    above = (folder, *folder.parents)
    return next((parent for parent in above if (parent / ".git").exists()), folder)


@report_format("sarif")
class SarifFormat(ReportFormat):
    """SARIF 2.1.0 for code scanning."""

    def part(self, report: RenderedResult) -> Object:
        results: Object = rendered(report, SARIF)
        return results

    def unreadable(self, model: str, why: str) -> Object:
        return unreadable(model, why)

    def whole(self, parts: Sequence[Object]) -> str:
        return whole(parts, scan_findings() if self.layout.command == SCAN else model_findings())
