"""Reports of `check` and `scan` with all nodes of each finding, by the graphs of the model."""

from __future__ import annotations

from typing import Any

from tfport.check.check_report import CheckReport
from tfport.check.findings.finding import Finding
from tfport.scan.scan import ScanReport
from tfport.web.graph_view.graphs import ModelGraphs


def report_with_nodes(report: CheckReport, graphs: ModelGraphs) -> dict[str, Any]:
    """`tfport check --json`; each finding also has `all_nodes`: graph ids and node names."""
    document = report.to_json()
    for result, shown in zip(report.results, document["results"], strict=True):
        for finding, entry in zip(result.findings, shown["findings"], strict=True):
            entry["all_nodes"] = finding_nodes(finding, graphs)
    return document


def scan_with_nodes(report: ScanReport, graphs: ModelGraphs) -> dict[str, Any]:
    """`tfport scan --json`; each finding also has `all_nodes`."""
    document = report.to_json()
    for risk, entry in zip(report.risks, document["risks"], strict=True):
        entry["all_nodes"] = finding_nodes(risk, graphs) if risk.nodes else []
    return document


def finding_nodes(finding: Finding, graphs: ModelGraphs) -> list[dict[str, str]]:
    """Where the nodes of a finding are."""
    if finding.nodes:
        return [{"graph": graphs.nodes.id_of_node(node), "node": node.name} for node in finding.nodes]
    return graphs.nodes_with_op(finding.op) if finding.op else []
