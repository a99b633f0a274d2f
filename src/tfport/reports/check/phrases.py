"""Findings grouped over targets, and the phrases that the text, Markdown and JUnit formats share.

A finding is the same on two targets if its message and cause differ only in the name of the
target. The loaders and the stage remain with each result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.check.check import FAILS, RUNS, UNKNOWN, Result
from tfport.check.check_report import CheckReport
from tfport.check.findings.finding import ERROR, LOAD, NOTE, RUN, WARNING, Finding
from tfport.graph.graph import Node
from tfport.startup.dataclass import dataclass, field

SEVERITY_ORDER = (ERROR, WARNING, NOTE)
STAGES = (LOAD, RUN, None)
_GAP = "\0"
_RUN = 3
"""From this number on, consecutive targets are named by the first and the last."""
WHEN = {LOAD: "at load", RUN: "at run", None: "never"}
LONGEST_MESSAGE = 150
_CONTINUATION = re.compile(r"(?<=\.)\s|\n|; NodeDef|; signature=|\. NodeDef")
"""Where TensorFlow's message continues with details that the report omits or shows elsewhere."""


def verdict_text(result: Result) -> str:
    """`fails at load`."""
    return f"{result.verdict} {WHEN[result.stage]}" if result.stage else result.verdict


def shortened_message(text: str) -> str:
    """TensorFlow's message up to the first detail, shortened if it is long."""
    end = _CONTINUATION.search(text)
    shown = f"{text[: end.start()]} …" if end else text
    return shown if len(shown) <= LONGEST_MESSAGE else shown[: LONGEST_MESSAGE - 1] + "…"


def nodes_text(nodes: Sequence[Node], most: int) -> str:
    """`5 nodes: MatMul, MatMul_1, …`."""
    more = ["…"] if len(nodes) > most else []
    names = ", ".join([*(node.name for node in nodes[:most]), *more])
    return f"{len(nodes):,} nodes: {names}" if len(nodes) > 1 else f"node: {names}"


def signatures_text(signatures: Sequence[str], most: int = 2) -> str:
    """`predict, classify and 3 more`."""
    more = f" and {len(signatures) - most} more" if len(signatures) > most else ""
    return f"{', '.join(signatures[:most])}{more}"


def summary(verdicts: Sequence[str | None]) -> str:
    """`3 models: 2 run, 1 cannot be read`; None stands for unreadable models."""
    kinds = {RUNS: "run", FAILS: "fail", UNKNOWN: "unknown", None: "cannot be read"}
    if len(verdicts) == 1:
        return verdicts[0] or kinds[None]
    counts = [f"{n:,} {kind}" for verdict, kind in kinds.items() if (n := verdicts.count(verdict))]
    return f"{len(verdicts):,} models: {', '.join(counts)}"


def scan_summary(severities: Sequence[str | None], total: int) -> str:
    """`3 scanned: 1 with findings, 1 cannot be read`; None stands for models without findings."""
    lost = total - len(severities)
    counts = [f"{len(severities) - severities.count(None):,} with findings"]
    return f"{total:,} scanned: {', '.join([*counts, *([f'{lost:,} cannot be read'] if lost else [])])}"


@dataclass
class GroupedFinding:
    """One finding and the results that contain it."""

    order: Sequence[Target]
    """All targets of the report."""
    places: list[tuple[Result, Finding]] = field(default_factory=list)

    @property
    def finding(self) -> Finding:
        """The finding to show: the most severe, noticed first."""
        return min((f for _, f in self.places), key=_severity_rank)

    @property
    def severity(self) -> str:
        return self.finding.severity

    @property
    def targets(self) -> list[Target]:
        return list(dict.fromkeys(result.target for result, _ in self.places))

    @property
    def message(self) -> str:
        return self._of_all(self.finding.message)

    @property
    def cause(self) -> str:
        return self._of_all(self.finding.cause())

    @property
    def signatures(self) -> list[str]:
        """The signatures that it stops on any target."""
        return sorted({name for _, finding in self.places for name in finding.signatures if name})

    def fixes(self) -> dict[str, list[Target]]:
        """What to do, with the targets of each advice: package versions depend on the release."""
        targets: dict[str, list[Target]] = {}
        for result, finding in self.places:
            for fix in [*finding.fixes(), *finding.ways_out]:
                where = targets.setdefault(fix, [])
                where += [result.target] if result.target not in where else []
        return targets

    def stages(self) -> dict[str | None, list[str]]:
        """The stages at which it is noticed, with the loaders."""
        stages: dict[str | None, list[str]] = {}
        for stage in STAGES:
            noticing = [result.loaders for result, finding in self.places if finding.stage == stage]
            if noticing:
                stages[stage] = list(dict.fromkeys(loader for loaders in noticing for loader in loaders))
        return stages

    def _of_all(self, text: str) -> str:
        return text.replace(self.finding.target, names_of(self.targets, self.order))


def _severity_rank(finding: Finding) -> tuple[int, int]:
    return SEVERITY_ORDER.index(finding.severity), STAGES.index(finding.stage)


def grouped_findings(report: CheckReport) -> list[GroupedFinding]:
    """Every finding of a report once, the most severe first."""
    order = targets_of(report)
    groups: dict[tuple[object, ...], GroupedFinding] = {}
    for result in report.results:
        for finding in result.findings:
            groups.setdefault(_key(finding), GroupedFinding(order)).places.append((result, finding))
    return sorted(groups.values(), key=lambda group: _severity_rank(group.finding))


def _key(finding: Finding) -> tuple[object, ...]:
    texts = (finding.message, finding.cause())
    return (
        finding.code,
        len(finding.nodes),
        finding.doubt,
        *(text.replace(finding.target, _GAP) for text in texts),
    )


def targets_of(report: CheckReport) -> list[Target]:
    """The targets in the requested order."""
    return list(dict.fromkeys(result.target for result in report.results))


def names_of(targets: Iterable[Target], order: Sequence[Target]) -> str:
    """`tensorflow 2.4.0 to 2.8.4, 2.10.0`: consecutive targets by the first and the last."""
    selected = set(targets)
    names: list[str] = []
    package = ""
    for run in runs_of(selected, order):
        name = run[0].name
        own, _, version = name.rpartition(" ")
        shown = version if own and own == package else name
        names.append(f"{shown} to {run[-1].name.rpartition(' ')[2]}" if len(run) > 1 else shown)
        package = own
    return ", ".join(names)


def runs_of(selected: set[Target], order: Sequence[Target]) -> Iterator[list[Target]]:
    """Consecutive targets of one package with rising releases; other targets one by one."""
    run: list[Target] = []
    for target in order:
        if run and not (target in selected and _follows(run[-1], target)):
            yield from _whole(run)
            run = []
        if target in selected:
            run.append(target)
    yield from _whole(run)


def _whole(run: list[Target]) -> Iterable[list[Target]]:
    return [run] if len(run) >= _RUN else [[target] for target in run]


def _follows(before: Target, after: Target) -> bool:
    package, _, version = before.name.rpartition(" ")
    other, _, later = after.name.rpartition(" ")
    if package != other or "+" in package or before.device != after.device:
        return False
    return version[:1].isdigit() and later[:1].isdigit() and version_key(version) < version_key(later)
