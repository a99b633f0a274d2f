"""Check whether a model loads and runs on a target, and report all causes at once.

Every `@check` of `check.findings` yields findings. Here each gets its stage: when the loader
notices it, and which signatures it stops. Their severity gives the verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from tfport.atlas.target import CONVERTER_KIND, KERAS_KIND, LITE_KIND, TFJS_KIND, Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import CHECKS, ERROR, LOAD, RUN, Finding
from tfport.check.loader_stages import FIRST, MAIN_GRAPH, SKIPPED
from tfport.check.loaders import (
    KERAS,
    LOADERS,
    PYTHON,
    SERVING,
    Loader,
    default_loaders,
    is_refused_by_serving,
    loader_for,
)
from tfport.check.node_contexts import NodeContext
from tfport.check.release_quirks import since
from tfport.errors import Error
from tfport.graph.graph import Node
from tfport.graph.graph_outputs import GraphOutputs
from tfport.registry.unresolved import Question
from tfport.startup.dataclass import dataclass, replace

Verdict = Literal["runs", "fails", "unknown"]
RUNS: Final = "runs"
FAILS: Final = "fails"
UNKNOWN: Final = "unknown"
IGNORED_ATTRIBUTE = "ignored-attribute"
"""The name of the finding, whose module is imported only if it is needed."""
_STAGES = {LOAD: 0, RUN: 1, None: 2}
MOST_NAMES = 4
PLACE_PRUNED = (
    "the outputs do not need this: let the session place only what it runs, with "
    "`tf.compat.v1.GraphOptions(place_pruned_graph=True)` in its config"
)


@dataclass(frozen=True, slots=True)
class Result:
    """What one target does with a model."""

    target: Target
    loaders: tuple[str, ...]
    """The loaders with this result."""
    verdict: Verdict
    stage: str | None
    findings: list[Finding]

    def __repr__(self) -> str:
        at = f" at {self.stage}" if self.stage else ""
        return f"<{self.target}: {self.verdict}{at}>"


def check_on(
    model: CheckedModel,
    target: Target,
    loaders: Sequence[str] | None = None,
    *,
    soft_placement: bool | None = None,
) -> list[Result]:
    """What each loader of a target does with a model; loaders that do the same share one result.

    `soft_placement` says whether a session may use another device than a node asks for (default:
    what each loader does).
    """
    if _may_need_another_loader(model, target):
        from tfport.check.keras_lite_results import loading_target, other_load

        if load := other_load(model, target, loaders):
            return [_judged(*load)]
        if target.kind == KERAS_KIND:
            target, loaders = loading_target(model, target), (KERAS,)
    results: list[Result] = []
    for name in loaders or default_loaders(target):
        result = _result(model, target, _loader(name, model, target, soft_placement))
        same = next((r for r in results if _outline(r) == _outline(result)), None)
        if same is None:
            results.append(result)
        else:
            results[results.index(same)] = replace(same, loaders=(*same.loaders, name))
    return results


def runs_on(
    model: CheckedModel,
    target: Target,
    loader: str,
    *,
    soft_placement: bool | None = None,
    as_written: bool = False,
) -> bool:
    """Whether `check_on` says that the model runs with a loader; looks no further than the first error.

    It runs `as_written` if the target also ignores no attribute of the nodes that it runs.
    """
    if _may_need_another_loader(model, target):
        from tfport.check.keras_lite_results import (
            conversion,
            keras_load,
            lite_load,
            loading_target,
            tfjs_load,
        )

        if target.kind == CONVERTER_KIND:
            return _judged(*conversion(model, target)).verdict == RUNS
        if target.kind == TFJS_KIND:
            return _judged(*tfjs_load(model, target)).verdict == RUNS
        if model.model.lite is not None:
            return target.lite is not None and _judged(*lite_load(model, target)).verdict == RUNS
        if loader == KERAS and model.model.keras is not None and target.keras is None:
            return False  # a release before `tf.keras`
        if load := keras_load(model, target, (loader,)):
            return _judged(*load).verdict == RUNS
        target = loading_target(model, target)
    findings = _findings(model, target, _loader(loader, model, target, soft_placement))
    return not any(_is_noticed(f) or (as_written and _is_ignored(f)) for f in findings)


def _may_need_another_loader(model: CheckedModel, target: Target) -> bool:
    """Whether to ask `check.keras_lite_results`: for a file or a target that is not TensorFlow's alone."""
    is_file = model.model.lite is not None or model.model.keras is not None
    is_other = target.kind in (CONVERTER_KIND, KERAS_KIND, LITE_KIND, TFJS_KIND)
    return is_file or is_other or is_refused_by_serving(model.model, target)


def _loader(name: str, model: CheckedModel, target: Target, soft_placement: bool | None) -> Loader:
    loader = loader_for(name, model.model, target)
    return loader if soft_placement is None else replace(loader, soft_placement=soft_placement)


def loaders_of(loader: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """Validate the requested loaders; None for the usual loaders of the target."""
    if loader is None:
        return None
    named = (loader,) if isinstance(loader, str) else tuple(loader)
    if unknown := next((name for name in named if name not in LOADERS), None):
        raise Error(f"unknown loader `{unknown}`; expected {', '.join(LOADERS[:-1])} or {LOADERS[-1]}")
    return named


def _outline(result: Result) -> tuple[object, ...]:
    findings = ((f.code, f.message, f.stage, f.node) for f in result.findings)
    return result.verdict, result.stage, tuple(findings)


def _result(model: CheckedModel, target: Target, loader: Loader) -> Result:
    findings = sorted(_findings(model, target, loader), key=lambda f: (_STAGES[f.stage], f.code))
    if any(f.stage == LOAD and f.severity == ERROR and PLACE_PRUNED not in f.ways_out for f in findings):
        for finding in findings:  # another error comes first
            finding.ways_out = [way for way in finding.ways_out if way != PLACE_PRUNED]
    return _judged(target, loader.name, findings)


def _judged(target: Target, loader: str, findings: list[Finding]) -> Result:
    verdict, stage = verdict_of(findings)
    return Result(target, (loader,), verdict, stage, findings)


def verdict_of(findings: Iterable[Finding]) -> tuple[Verdict, str | None]:
    """The verdict, and the earliest stage at which the model fails."""
    noticed = list(filter(_is_noticed, findings))
    if any(f.decides and not f.doubt for f in noticed):
        return FAILS, LOAD if any(f.stage == LOAD for f in noticed) else RUN
    return (UNKNOWN if noticed else RUNS), None


def _is_noticed(finding: Finding) -> bool:
    return finding.stage is not None and finding.severity == ERROR


def _is_ignored(finding: Finding) -> bool:
    return finding.stage is not None and finding.name == IGNORED_ATTRIBUTE


def _findings(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    model.model.require_graph()
    model.usages  # noqa: B018  first: grouping nodes is faster while attributes are not decoded
    for name in CHECKS.names():
        for check in CHECKS.of(name):
            for finding in check(model, target, loader):
                if staged := _staged(model, target, loader, finding):
                    yield staged


def _staged(model: CheckedModel, target: Target, loader: Loader, finding: Finding) -> Finding | None:
    """The finding with its stage and the signatures that it stops; None where the loader skips it."""
    noticed: dict[str | None, list[Node]] = {LOAD: [], RUN: [], None: []}
    stages: set[str | None] = set()
    stopped: set[str] = set()
    for context, nodes in _contexts(model, finding):
        stage, stops_all = loader.stage(finding.when(), finding.unresolved, finding.op or "", context)
        if stage == SKIPPED:
            return None
        stops = model.signatures if stops_all else _run_by(model, finding, context)
        noticed[stage if stops else None] += nodes
        stages.add(stage if stops else None)
        stopped |= stops if stage else frozenset()
    # a finding about a library is about the target without it
    staged = finding if finding.on is target or finding.is_about_library() else finding.on_target(target)
    staged.nodes = [node for nodes in noticed.values() for node in nodes]
    staged.stage, staged.signatures = min(stages, key=_STAGES.__getitem__), sorted(stopped)
    if finding.unresolved is not None and not finding.doubt and LOAD not in stages:
        staged.doubt = _doubt(model, staged, loader, noticed[RUN])
    if model.outputs is not None and staged.stage is not None:
        staged.ways_out = _ways_without(model.outputs, model, staged, loader)
    return staged


def _ways_without(outputs: GraphOutputs, model: CheckedModel, finding: Finding, loader: Loader) -> list[str]:
    """How to do without the nodes of a finding, if nothing that is asked for runs them."""
    contexts = [context for context, nodes in _contexts(model, finding) if context and nodes]
    if not contexts or any(context.signatures or context.loading for context in contexts):
        return []
    fed = {name.partition(":")[0] for name in outputs.feeds}
    if any(node.name in fed for node in finding.nodes):  # not run, but the graph without it has no input
        return []
    is_placement = finding.when().stages(loader.path, loader.target)[MAIN_GRAPH] == FIRST
    pruned = [PLACE_PRUNED] if is_placement and loader.name == PYTHON else []
    return [extraction_advice(outputs, loader.target), *pruned]


def _contexts(model: CheckedModel, finding: Finding) -> Iterable[tuple[NodeContext | None, list[Node]]]:
    if not finding.nodes:
        return [(None, [])]
    return model.contexts.group(finding.nodes) if finding.contexts is None else finding.contexts


def _run_by(model: CheckedModel, finding: Finding, context: NodeContext | None) -> frozenset[str]:
    """The requested signatures that a finding at a node affects."""
    if finding.signature is not None:
        return model.signatures & {finding.signature}
    return model.signatures & context.signatures if context is not None else model.signatures


def _doubt(model: CheckedModel, finding: Finding, loader: Loader, nodes: list[Node]) -> str:
    """Why these nodes may run despite the finding; empty if they cannot."""
    answer, lowering = finding.unresolved, since(loader.target, "1.13")
    assert answer is not None
    if answer.question is Question.KERNEL_LIMIT_WITHOUT_ONEDNN:
        return "oneDNN supports it; TensorFlow uses oneDNN on CPUs with AVX512_VNNI, AVX512_BF16 or AMX"
    lowering = lowering and answer.question is not Question.KERNEL_LIMIT  # only a kernel that runs has limits
    skipped = (model.contexts.may_be_skipped(node, lowering=lowering) for node in nodes)
    if nodes and finding.declared().in_taken_branch and all(skipped):
        return "it fails only if the branch that contains it is taken"
    if loader.name == SERVING and answer.question is Question.ATTR_VALUE and answer.attr == "data_format":
        return "a session leaves this attribute to the kernel, which may support the value"
    return ""


def extraction_advice(outputs: GraphOutputs, target: Target) -> str:
    """How to get a graph without the nodes that the outputs do not need."""
    fetches = "" if outputs.guessed else "".join(f" --fetch {name}" for name in outputs.fetches[:MOST_NAMES])
    command = f"tfport fix MODEL --for {target.requirement}{fetches} -o OUT"
    return f"the outputs do not need this: `{command}` writes the graph without it"
