"""What a model could do, as text and JSON.

error[TFP901]: op `ReadFile` reads `/etc/passwd` when signature `predict` runs
  --> read = ReadFile(filename)
  why:  a signature returns what was read: it leaves the machine with the answer
  here: tfport's own runtime reads only files of the model
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfport.check.findings.finding import NOTE, function_of
from tfport.graph.text import node_text
from tfport.rendering import TEXT, json_of, renderer_of
from tfport.reports.check.formats import ReportLayout
from tfport.reports.check.phrases import nodes_text
from tfport.reports.check.text import ARROW, MOST_NODES, SEVERITIES, TextPart
from tfport.reports.console import INDENT, cut_off, indented, labeled, text_of, title
from tfport.reports.layout import ReportPart, Text
from tfport.scan.risk import Risk
from tfport.scan.scan import ScanReport
from tfport.words import count, printable

VERSION = 1
EXAMPLES = 3
LABEL = len("here: ")
NOTHING = "nothing found that touches files, the network, Python or other code"


@json_of(ScanReport)
def scan_json(report: ScanReport) -> dict[str, Any]:
    return {
        "version": VERSION,
        "model": report.model,
        "format": report.format,
        "nodes": report.nodes,
        "severity": report.severity,
        "risks": [risk_json(risk) for risk in report.risks],
    }


def risk_json(risk: Risk) -> dict[str, Any]:
    return {
        "code": risk.code,
        "name": risk.name,
        "severity": risk.severity,
        "message": risk.message,
        "when": risk.moment,
        "why": risk.why or None,
        "op": risk.op,
        "count": len(risk.nodes),
        "nodes": [{"node": n.name, "function": function_of(n)} for n in risk.nodes[:EXAMPLES]],
        "subject": risk.subject or None,
        "own_runtime": risk.own_runtime or None,
    }


@text_of(ScanReport)
def scan_text(report: ScanReport, width: int, *, everything: bool = False) -> Iterator[ReportPart]:
    nodes = f", {count(report.nodes, 'node')}" if report.nodes else ""
    yield title(report.model, f"{report.format}{nodes}")
    if not report.risks:
        yield indented(Text(NOTHING))
        return
    for risk in report.risks:
        if risk.severity != NOTE:
            yield from _risk(risk, width, everything=everything)
    notes = [risk for risk in report.risks if risk.severity == NOTE]
    if notes:
        yield title("notes")
        yield from (_note(risk) for risk in notes)


@renderer_of(ScanReport, TEXT)
def scan_part(report: ScanReport, layout: ReportLayout) -> TextPart:
    """The text of a scan of one model; of many, those without findings have one line."""
    if layout.many and not report.risks:
        line = Text.assemble(f"{printable(report.model)}  ", ("nothing found", "green"))
        return TextPart(None, [line], is_line=True)
    rows = list(scan_text(report, layout.width, everything=layout.everything))
    return TextPart(report.severity, rows)


def _risk(risk: Risk, width: int, *, everything: bool) -> Iterator[ReportPart]:
    head = (f"{risk.severity}[{risk.code}]", SEVERITIES[risk.severity])
    yield Text.assemble("\n", head, (f": {printable(risk.message)}", "bold"))
    space = width - INDENT - len(ARROW)
    if risk.nodes:
        first = printable(node_text(risk.nodes[0]))
        yield indented(Text.assemble((ARROW, "blue"), first if everything else cut_off(first, space)))
    function = function_of(risk.nodes[0]) if risk.nodes else None
    inside = [f"in function {function}"] if function else []
    others = [nodes_text(risk.nodes, len(risk.nodes) if everything else MOST_NODES)]
    rest = printable("; ".join(inside + (others if len(risk.nodes) > 1 else [])))
    if rest:
        yield indented(Text(" " * len(ARROW) + (rest if everything else cut_off(rest, space)), style="dim"))
    yield from labeled(
        [(label, text) for label, text in (("why:", risk.why), ("here:", risk.own_runtime)) if text], LABEL
    )


def _note(risk: Risk) -> ReportPart:
    nodes = f" ({count(len(risk.nodes), 'node')})" if len(risk.nodes) > 1 else ""
    code = (f"note[{risk.code}]", SEVERITIES[NOTE])
    why = f"; {risk.why}" if risk.why else ""
    return indented(Text.assemble(code, f": {printable(risk.message)}{nodes}{printable(why)}"))
