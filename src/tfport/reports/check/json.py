"""A report as JSON: the contract of `tfport check --json`, version 1."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from tfport.check.check import Result
from tfport.check.check_report import CheckReport
from tfport.check.findings.finding import Finding, function_of
from tfport.rendering import RenderedResult, json_of
from tfport.reports.check.formats import ReportFormat, report_format
from tfport.reports.outputs import outputs_json

VERSION = 1
EXAMPLES = 3


@json_of(CheckReport)
def report_json(report: CheckReport) -> dict[str, Any]:
    return {
        "version": VERSION,
        "model": report.model,
        "producer": {
            "tensorflow": report.tensorflow or None,
            "graph_def": report.graph_def,
            "min_consumer": report.min_consumer,
            "keras": report.keras or None,
            "lite": report.lite or None,
        },
        "signatures": report.signatures,
        "fetched": outputs_json(report.outputs),
        "verdict": report.verdict,
        "results": [result_json(result) for result in report.results],
    }


def result_json(result: Result) -> dict[str, Any]:
    return {
        "target": result.target.requirement,
        "device": result.target.device,
        "loaders": list(result.loaders),
        "verdict": result.verdict,
        "stage": result.stage,
        "notes": result.target.notes,
        "findings": [finding_json(finding) for finding in result.findings],
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "stage": finding.stage,
        "op": finding.op,
        "node": finding.node,
        "function": finding.function,
        "count": len(finding.nodes),
        "nodes": [{"node": n.name, "function": function_of(n)} for n in finding.nodes[:EXAMPLES]],
        "signatures": list(finding.signatures),
        "attr": finding.attr,
        "message": finding.message,
        "tensorflow_says": finding.tensorflow_says,
        "cause": finding.cause(),
        "doubt": finding.doubt or None,
        "fixes": [*finding.fixes(), *finding.ways_out],
    }


@report_format("json")
class JsonFormat(ReportFormat):
    """JSON for programs: the report, or a list of reports."""

    always_many: ClassVar[bool] = False

    def part(self, report: RenderedResult) -> dict[str, Any]:
        return report.to_json()

    def unreadable(self, model: str, why: str) -> dict[str, Any]:
        return {"model": model, "error": why}

    def whole(self, parts: Sequence[dict[str, Any]]) -> str:
        document = {"version": VERSION, "models": list(parts)} if self.layout.many else parts[0]
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
