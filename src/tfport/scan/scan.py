"""Scan a model: everything that it could do to the machine that loads it. Nothing in it is run."""

from __future__ import annotations

from tfport.check.checked_model import CheckedModel
from tfport.graph.model import Model
from tfport.rendering import RenderedResult
from tfport.scan.graph_risks import graph_risks
from tfport.scan.keras_risks import keras_risks
from tfport.scan.risk import Risk, rank, worst_severity
from tfport.startup.dataclass import dataclass, field


@dataclass
class ScanReport(RenderedResult):
    """A model and what it could do, the worst first."""

    model: str
    format: str
    risks: list[Risk] = field(default_factory=list)
    nodes: int = 0
    """The number of nodes that were looked at, also those that nothing runs."""

    @property
    def severity(self) -> str | None:
        """The severity of the worst; None if nothing was found."""
        return worst_severity(self.risks)


def scan_model(model: Model) -> ScanReport:
    """Everything that a model could do."""
    risks: list[Risk] = []
    nodes = 0
    if not model.no_graph:
        checked = CheckedModel(model)
        risks += graph_risks(checked)
        nodes = sum(len(usage.nodes) for usage in checked.usages)
    if model.keras is not None:
        risks += keras_risks(model.keras)
    return ScanReport(model.where, model.format.name, sorted(risks, key=rank), nodes)
