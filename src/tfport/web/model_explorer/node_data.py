"""Files of node data for Model Explorer: findings of `check` and times of `bench --profile`.

A file has an entry for each graph by its name in `shown_graphs`, with results by the names of nodes. It is
written without Model Explorer's package, in the form of its `node_data_builder.ModelNodeData`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tfport.check.findings.finding import ERROR, NOTE, WARNING, Finding
from tfport.startup.dataclass import dataclass
from tfport.web.graph_view.finding_nodes import finding_nodes
from tfport.web.graph_view.graphs import ModelGraphs
from tfport.web.model_explorer.shown_graphs import ShownGraphs

if TYPE_CHECKING:
    from tfport.check.check_report import CheckReport
    from tfport.runtime.profile.times import NodeTime

COLORS = {ERROR: "#b62b3f", WARNING: "#f2b45c", NOTE: "#b7d0f0"}
"""By severity, the worst first; their lightness differs too."""
FAST, SLOW = "#fdf3e3", "#b62b3f"
MILLI, DIGITS = 1e3, 6
LONGEST = 500


@dataclass(frozen=True, slots=True)
class _NodeFinding:
    """A finding at a node."""

    graph: str
    node: str
    severity: str
    text: str


def findings_data(report: CheckReport) -> str:
    """The file of a report: each node with the texts of its findings, in the color of the worst one."""
    assert report.subject is not None
    graphs = ModelGraphs(report.subject)
    by_node: dict[tuple[str, str], list[_NodeFinding]] = {}
    for finding in _at_nodes(report, graphs):
        same = by_node.setdefault((finding.graph, finding.node), [])
        if finding not in same:
            same.append(finding)
    targets = ", ".join(dict.fromkeys(result.target.name for result in report.results))
    results = {
        key: {
            "value": "; ".join(finding.text for finding in findings),
            "bgColor": next(c for s, c in COLORS.items() if any(f.severity == s for f in findings)),
        }
        for key, findings in by_node.items()
    }
    no_sums = {"hideInAggregatedStatsTable": True, "hideInChildrenStatsTable": True}
    return _file(graphs, results, {"name": f"tfport check on {targets}", **no_sums})


def _at_nodes(report: CheckReport, graphs: ModelGraphs) -> Iterator[_NodeFinding]:
    for finding in report.findings:
        for place in finding_nodes(finding, graphs):
            yield _NodeFinding(place["graph"], place["node"], finding.severity, _text(finding))


def _text(finding: Finding) -> str:
    text = f"{finding.code}: {finding.message}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def times_data(times: Iterable[NodeTime], graphs: ModelGraphs, name: str) -> str:
    """The file of a profile: the milliseconds of each node that took time."""
    results = {
        (id, time.origin.name): {"value": round(time.seconds * MILLI, DIGITS)}
        for time in times
        if time.seconds and (id := graphs.nodes.id_of(time.origin.function)) is not None
    }
    gradient = [{"stop": 0, "bgColor": FAST}, {"stop": 1, "bgColor": SLOW}]
    return _file(graphs, results, {"name": name, "gradient": gradient})


def _file(graphs: ModelGraphs, results: dict[tuple[str, str], dict[str, Any]], about: dict[str, Any]) -> str:
    """The document; without results it has an entry for the first graph."""
    names = ShownGraphs(graphs).names
    document: dict[str, dict[str, Any]] = {}
    for (id, node), result in results.items():
        if id in names:
            document.setdefault(names[id], {"results": {}, **about})["results"][node] = result
    if not document:
        document[next(iter(names.values()))] = {"results": {}, **about}
    return json.dumps(document, indent=2) + "\n"
