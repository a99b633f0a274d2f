"""Static pages: `check --html`, `matrix --html`, `inspect --html`, `audit --html`, and `fix`'s certificate.

Each has the JSON that the command prints, and the graphs of the model if they are not too large.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tfport.atlas.known_ops import known_ops
from tfport.check.check_report import CheckReport
from tfport.errors import Error
from tfport.formats.digests import model_digest, model_files
from tfport.graph.model import Model
from tfport.inspection.inspection import Inspection, inspect_model
from tfport.matrix.matrix import Matrix
from tfport.rendering import PAGE, renderer_of
from tfport.reports.check.formats import ReportFormat, report_format
from tfport.static_page.page import model_entry, self_contained_page
from tfport.web.graph_view.finding_nodes import report_with_nodes
from tfport.web.graph_view.graphs import ModelGraphs
from tfport.web.matrix_details import matrix_with_details
from tfport.words import printable

if TYPE_CHECKING:
    from tfport.audit.summary import AuditSummary

MOST_NODES = 20_000
"""Larger graphs are left out of a page: `tfport ui` shows them."""
MOST_FILES = 10_000
MOST_HASHED = 2 << 30
"""The most bytes of a model whose page states its hash: a notebook shows pages too."""


@renderer_of(CheckReport, PAGE)
def check_page(report: CheckReport) -> str:
    """The page of a report: verdicts, findings, and their nodes in the graph."""
    assert report.subject is not None
    model = report.subject
    graphs = ModelGraphs(model)
    documents = {"check": report_with_nodes(report, graphs), **_graphs(graphs)}
    return self_contained_page(
        "verdicts", _title(report.model, "check"), _entry(model), documents, str(report)
    )


def inspect_page(inspection: Inspection, model: Model) -> str:
    """The page of an inspection: signatures, ops, tensors, and the graphs."""
    documents = {"inspect": inspection.to_json(), **_graphs(ModelGraphs(model))}
    return self_contained_page(
        "overview", _title(inspection.model, "inspect"), _entry(model), documents, str(inspection)
    )


@renderer_of(Model, PAGE)
def model_page(model: Model) -> str:
    """What a notebook shows of a model: its inspection."""
    return inspect_page(inspect_model(model, known_ops()), model)


@renderer_of(Matrix, PAGE)
def matrix_page(matrix: Matrix) -> str:
    """The page of a matrix: every release, and a finding for each cause."""
    entry = {**model_entry(matrix.model, "", size_on_disk(matrix.model)), "sha256": _digest(matrix.model)}
    documents = {"matrix": matrix_with_details(matrix)}
    return self_contained_page(
        "verdicts", _title(matrix.model, "where it runs"), entry, documents, str(matrix)
    )


def audit_page(summary: AuditSummary) -> str:
    """The page of an audit: how many models run where, what stops the others, and what changed."""
    store = ", ".join(summary.stores)
    entry = model_entry(store, "", summary.bytes)
    return self_contained_page(
        "audit", _title(store, "audit"), entry, {"audit": summary.to_json()}, str(summary)
    )


def _entry(model: Model) -> dict[str, Any]:
    entry = model_entry(model.where, model.format.key, size_on_disk(model.where))
    return {**entry, "sha256": _digest(model.where)}


def _digest(path: str) -> str:
    """The SHA-256 of the model, as in its certificates; empty if it is not on disk, or very large."""
    if not os.path.lexists(path) or size_on_disk(path) > MOST_HASHED:
        return ""
    try:
        return model_digest(path, model_files(path))
    except (Error, OSError):
        return ""


def _graphs(graphs: ModelGraphs) -> dict[str, Any]:
    summaries = graphs.summaries
    if sum(summary.nodes for summary in summaries) > MOST_NODES:
        return {}
    return {
        "graphs": [summary.to_json() for summary in summaries],
        "graph": {summary.id: graphs.document_with_attributes(summary.id) for summary in summaries},
    }


def _title(model: str, what: str) -> str:
    return printable(f"{model}: {what}")


@report_format("html")
class HtmlFormat(ReportFormat):
    """HTML for one model: verdicts, findings and the graph, to attach to a ticket."""

    always_many: ClassVar[bool] = False

    def part(self, report: CheckReport) -> str:
        if self.layout.many:
            raise Error("an HTML page is about one model; check the models one at a time")
        return check_page(report)

    def unreadable(self, model: str, why: str) -> str:
        raise Error(f"{model}: {why}")

    def whole(self, parts: Sequence[str]) -> str:
        return parts[0]


def size_on_disk(path: str) -> int:
    """The bytes of a file, or of all files of a folder; counting stops at many files."""
    if not os.path.isdir(path):
        try:
            return os.stat(path).st_size
        except OSError:
            return 0
    total = files = 0
    for folder, _, names in os.walk(path):
        for name in names:
            files += 1
            if files > MOST_FILES:
                return total
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
    return total
