"""Which ops tfport runs: of those that models need, by an audit on tfport, and of those of a package."""

from __future__ import annotations

from collections import Counter

from tfport.atlas.atlas import atlas
from tfport.atlas.op_search import summaries
from tfport.atlas.release_spans import STOCK
from tfport.atlas.target import OURS
from tfport.audit.database import AuditDatabase
from tfport.audit.examine import READ
from tfport.check.check import RUNS
from tfport.errors import Error
from tfport.rendering import RenderedResult
from tfport.runtime.own_target import own_target
from tfport.startup.dataclass import dataclass, field

OF_OPS = ("TFP1", "TFP2", "TFP3", "TFP6")
"""Findings about an op: it is not registered, an attribute, a kernel, or what tfport's runtime lacks."""


@dataclass(slots=True)
class ModelCoverage:
    """A model, and what of it tfport lacks."""

    path: str
    loads: bool = True
    runs: bool = True
    lacks: tuple[str, ...] = ()
    """Ops, or attributes of ops."""
    reason: str = ""
    """Why it does not run, or is unreadable, if that is not an op."""


@dataclass(repr=False)
class Coverage(RenderedResult):
    """The models of some folders on tfport."""

    models: list[ModelCoverage] = field(default_factory=list)

    @property
    def running(self) -> int:
        return sum(model.runs for model in self.models)

    @property
    def unreadable(self) -> int:
        return sum(not model.loads for model in self.models)

    @property
    def ops(self) -> dict[str, int]:
        """What is lacking, by the number of models that need it."""
        return dict(Counter(op for model in self.models for op in model.lacks).most_common())


def coverage_of(database: AuditDatabase) -> Coverage:
    """The coverage of an audit whose target is tfport."""
    ask = database.connection.execute
    rows = ask(
        "SELECT path, status, error, verdict FROM models LEFT JOIN results USING (path) "
        "WHERE target = ? OR target IS NULL ORDER BY path",
        (OURS,),
    )
    coverage = Coverage()
    for path, status, error, verdict in rows.fetchall():
        model = ModelCoverage(path, loads=status == READ, runs=verdict == RUNS, reason=error or "")
        coverage.models.append(model)
        if model.loads and not model.runs:
            causes = ask(
                "SELECT code, subject, message FROM causes WHERE path = ? AND target = ? ORDER BY 1, 2",
                (path, OURS),
            ).fetchall()
            model.lacks = tuple(subject for code, subject, _ in causes if code.startswith(OF_OPS))
            others = [f"{code}: {message}" for code, _, message in causes if not code.startswith(OF_OPS)]
            model.reason = "; ".join(others)
    return coverage


@dataclass(repr=False)
class PackageCoverage(RenderedResult):
    """The ops that a package registers, in any of its recorded releases."""

    package: str
    runs: list[str] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)


def package_coverage(package: str) -> PackageCoverage:
    """Which ops of a package tfport runs."""
    known = own_target().registry
    coverage = PackageCoverage(package)
    for op in summaries(atlas(), atlas().op_names()):
        if package in op.providers or (package == STOCK and op.releases):
            (coverage.runs if op.name in known else coverage.lacks).append(op.name)
    if not coverage.runs and not coverage.lacks:
        raise Error(f"no recorded build of `{package}` registers an op; `tfport targets` lists the packages")
    return coverage
