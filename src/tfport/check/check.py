"""Will a model load and run on a target, and if not, why? All causes at once.

What the target's registry does not resolve becomes findings, one for each reason
with all its nodes; when the loader would notice decides how grave each is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import tfport.check.findings.attributes
import tfport.check.findings.functions
import tfport.check.findings.integrity
import tfport.check.findings.kernels
import tfport.check.findings.ops  # noqa: F401  each enters its findings
from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.file_stages import file_stage
from tfport.check.findings.files import Lapse
from tfport.check.findings.finding import ERROR, LOAD, RUN, Finding
from tfport.check.findings.gpus import gpu_findings
from tfport.check.findings.python_objects import object_findings
from tfport.check.findings.trouble import BUILDERS, Trouble
from tfport.check.findings.versions import version_findings
from tfport.check.loaders import LOADERS, SERVING, Way, default_loaders, way_of
from tfport.check.node_contexts import NodeContext
from tfport.check.release_quirks import since
from tfport.errors import Error
from tfport.graph.dtypes import RESOURCE
from tfport.graph.graph import Node
from tfport.graph.usage import Usage
from tfport.registry.unresolved import Question, Unresolved

RUNS, FAILS, UNKNOWN = "runs", "fails", "unknown"
_STAGES = {LOAD: 0, RUN: 1, None: 2}


@dataclass(frozen=True, slots=True)
class Result:
    """What one target does with a model."""

    target: Target
    loaders: tuple[str, ...]
    """Those that do the same."""
    verdict: str
    stage: str | None
    findings: list[Finding]


def check_on(
    subject: CheckedModel,
    target: Target,
    loaders: Sequence[str] | None = None,
    *,
    soft_placement: bool | None = None,
) -> list[Result]:
    """What each loader of a target does with a model; loaders that do the same are one result.

    `soft_placement` says whether a session may use another device than a node asks for; None
    stands for what each loader does by itself.
    """
    found: list[Result] = []
    for loader in loaders or default_loaders(target):
        way = way_of(loader, subject.model, target)
        if soft_placement is not None:
            way = replace(way, soft=soft_placement)
        result = _result(subject, target, way)
        same = next((r for r in found if _outline(r) == _outline(result)), None)
        if same is None:
            found.append(result)
        else:
            found[found.index(same)] = replace(same, loaders=(*same.loaders, loader))
    return found


def loaders_of(loader: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """The loaders that a caller names; None for those of the target."""
    if loader is None:
        return None
    named = (loader,) if isinstance(loader, str) else tuple(loader)
    if unknown := next((name for name in named if name not in LOADERS), None):
        raise Error(f"a loader `{unknown}`; expected {', '.join(LOADERS[:-1])} or {LOADERS[-1]}")
    return named


def _outline(result: Result) -> tuple[object, ...]:
    told = ((f.code, f.message, f.stage, f.node) for f in result.findings)
    return result.verdict, result.stage, tuple(told)


def _result(subject: CheckedModel, target: Target, way: Way) -> Result:
    findings = sorted(_findings(subject, target, way), key=lambda f: (_STAGES[f.stage], f.code))
    verdict, stage = verdict_of(findings)
    return Result(target, (way.loader,), verdict, stage, findings)


def verdict_of(findings: Iterable[Finding]) -> tuple[str, str | None]:
    """The worst that happens, and when."""
    noticed = [f for f in findings if f.stage is not None and f.severity == ERROR]
    if any(f.decides and not f.doubt for f in noticed):
        return FAILS, LOAD if any(f.stage == LOAD for f in noticed) else RUN
    return (UNKNOWN if noticed else RUNS), None


Key = tuple[object, ...]
Placed = list[tuple[NodeContext, list[Node]]]
IN_BRANCHES = (
    Question.KERNEL, Question.KERNEL_TYPE, Question.REFUSED, Question.REFUSED_WITHOUT_ONEDNN, Question.DEVICE,
    Question.UNKNOWN_ATTR, Question.ATTR_TYPE, Question.ATTR_MINIMUM, Question.ATTR_VALUE, Question.DATA_TYPE,
)  # fmt: skip
"""What only matters in a branch that is taken."""


def _findings(subject: CheckedModel, target: Target, way: Way) -> Iterable[Finding]:
    groups: dict[Key, tuple[Usage, Unresolved, Placed]] = {}
    for usage, reason in subject.unresolved(target, soft=way.soft):
        _, _, placed = groups.setdefault(_key(usage, reason), (usage, reason, []))
        placed += _minding(subject, usage, reason, way)
    for usage, reason, placed in groups.values():
        trouble = Trouble(target, usage, reason, (), subject.producer)
        if placed and (found := _finding(subject, trouble, placed, way)):
            yield found
    for versions in version_findings(subject.model, target) if way.reads_versions else ():
        late = way.reads_versions_late and not way.runs_at_load
        versions.stage, versions.signatures = RUN if late else LOAD, sorted(subject.signatures)
        yield versions
    for objects in object_findings(subject.model, subject.kinds_of_values, target, way):
        objects.stage, objects.signatures = LOAD, sorted(subject.signatures)
        yield objects
    for gpu in gpu_findings(target):
        gpu.signatures = sorted(subject.signatures) if gpu.stage else ()
        yield gpu
    for lapse in subject.file_lapses(target):
        yield _file_finding(subject, target, way, lapse)


def _minding(subject: CheckedModel, usage: Usage, reason: Unresolved, way: Way) -> Placed:
    """The nodes that a reason concerns, where something keeps it from others."""
    placed = subject.places_of(usage)
    if reason.question is Question.UNKNOWN_ATTR and way.strips_defaults:
        defaults = subject.listed_defaults.get(usage.op, {})
        if reason.attr in defaults and defaults[reason.attr] == reason.actual:
            return [(place, nodes) for place, nodes in placed if place.function is not None]
    if reason.question is Question.DEVICE and RESOURCE in usage.inputs:  # it runs where the resource is
        return [(place, nodes) for place, nodes in placed if place.function is None]
    return placed


def _file_finding(subject: CheckedModel, target: Target, way: Way, lapse: Lapse) -> Finding:
    found = lapse.make(on=target)
    place = subject.places.of(lapse.node) if lapse.node else None
    stopped = subject.signatures & (
        {lapse.signature} if lapse.signature else place.signatures if place else subject.signatures
    )
    found.stage = file_stage(lapse.kind, way, target, place)
    if found.stage == LOAD:
        stopped = subject.signatures
    if not stopped:
        found.stage = None
    found.signatures = sorted(stopped)
    return found


def _key(usage: Usage, reason: Unresolved) -> Key:
    """What makes two troubles one finding."""
    types = tuple(
        sorted((k, str(v)) for k, v in usage.attrs.items() if reason.question is Question.KERNEL_TYPE)
    )
    return (
        usage.op,
        reason.question,
        reason.attr,
        str(reason.actual),
        str(reason.expected),
        reason.index,
        types,
    )


def _finding(subject: CheckedModel, trouble: Trouble, placed: Placed, way: Way) -> Finding | None:
    noticed: dict[str | None, list[Node]] = {LOAD: [], RUN: [], None: []}
    stopped: set[str] = set()
    for place, nodes in placed:
        stage, everything = way.notices(trouble.reason, trouble.op, place)
        stops = subject.signatures if everything else place.signatures & subject.signatures
        noticed[stage if stops else None] += nodes
        stopped |= stops if stage else frozenset()
    nodes = [node for some in noticed.values() for node in some]
    found = BUILDERS[trouble.reason.question](replace(trouble, nodes=nodes))
    if found is not None:
        found.stage, found.signatures = next(s for s, some in noticed.items() if some), sorted(stopped)
        found.doubt = "" if noticed[LOAD] else _doubt(subject, trouble, way, noticed[RUN])
    return found


def _doubt(subject: CheckedModel, trouble: Trouble, way: Way, nodes: list[Node]) -> str:
    """Why all these nodes may run in spite of a trouble."""
    reason, lowering = trouble.reason, since(trouble.target, "1.13")
    if reason.question is Question.REFUSED_WITHOUT_ONEDNN:
        return "oneDNN does it, which TensorFlow uses on CPUs with AVX512_VNNI, AVX512_BF16 or AMX"
    skipped = (subject.places.may_be_skipped(node, lowering=lowering) for node in nodes)
    if nodes and reason.question in IN_BRANCHES and all(skipped):
        return "only where the branch is taken in which it stands"
    if way.loader == SERVING and reason.question is Question.ATTR_VALUE and reason.attr == "data_format":
        return "a session does not ask the op, only its kernel, which may take it"
    return ""
