"""What the registry of a target does not resolve, as findings: one for each answer, with all its nodes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tfport.atlas.atlas import RecordedSource, atlas
from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel, UnresolvedNodes
from tfport.check.devices import CPU
from tfport.check.findings.finding import Finding, answering, check
from tfport.check.loaders import KERAS, PYTHON, Loader
from tfport.check.node_contexts import NodesByContext
from tfport.check.release_quirks import is_loaded_by_python
from tfport.graph.graph import Node
from tfport.graph.usage import Usage
from tfport.registry.unresolved import Question, Unresolved

if TYPE_CHECKING:
    from tfport.atlas.op_search import OpSummary


OF_KERNELS = (
    Question.KERNEL, Question.KERNEL_TYPE, Question.KERNEL_LIMIT, Question.KERNEL_LIMIT_WITHOUT_ONEDNN,
    Question.CALL_DEVICE, Question.DEVICE,
)  # fmt: skip
"""What does not matter for a node that XLA compiles."""


@check
def nodes_are_resolved(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    groups: dict[tuple[object, ...], UnresolvedNodes] = {}
    for usage, answer in model.unresolved(target, soft_placement=loader.soft_placement):
        group = groups.setdefault(_key(usage, answer), UnresolvedNodes(target, usage, answer, model.producer))
        group.contexts += _affected(model, usage, answer, loader)
    for group in groups.values():
        if group.contexts and (finding := finding_for(group)):
            yield finding


def finding_for(unresolved: UnresolvedNodes) -> Finding | None:
    """The finding of the first class that applies; None if the target accepts the nodes."""
    for declared in answering(unresolved.answer.question):
        finding = declared.of(unresolved)
        if finding is not None:
            finding.on, finding.nodes, finding.op = unresolved.target, unresolved.nodes, unresolved.op
            finding.unresolved, finding.attr = unresolved.answer, unresolved.answer.attr or None
            finding.contexts = unresolved.contexts
            return finding
    return None


def _key(usage: Usage, answer: Unresolved) -> tuple[object, ...]:
    """The key by which answers are grouped into one finding."""
    has_types = answer.question is Question.KERNEL_TYPE or (
        answer.question is Question.DEVICE and answer.kernels
    )
    types = sorted((k, str(v)) for k, v in usage.attrs.items()) if has_types else ()
    return (
        usage.op,
        answer.question,
        answer.attr,
        str(answer.actual),
        str(answer.expected),
        answer.index,
        *types,
    )


def _affected(model: CheckedModel, usage: Usage, answer: Unresolved, loader: Loader) -> NodesByContext:
    """The nodes that an answer affects, without those from which the loader removes the cause."""
    contexts = model.contexts_of(usage)
    if answer.question is Question.UNKNOWN_ATTR and loader.strips_defaults:
        defaults = model.listed_defaults.get(usage.op, {})
        if answer.attr in defaults and defaults[answer.attr] == answer.actual:
            return [(context, nodes) for context, nodes in contexts if context.function is not None]
    if answer.question is Question.OP and loader.name in (PYTHON, KERAS):
        libraries = own_libraries(loader.target, usage.op)
        return [] if any(map(is_loaded_by_python, libraries)) else contexts
    if answer.question in OF_KERNELS and model.compiled_functions.calls:
        contexts = _keep(contexts, lambda node: not _is_compiled(model, node, loader))
    requests = model.device_requests
    if answer.question is Question.CALL_DEVICE:
        return _keep(contexts, requests.runs_on_device_of_call)
    if answer.question not in (Question.DEVICE, Question.JOB) or not loader.optimizes:
        return contexts
    ignored = requests.is_ignored if answer.question is Question.DEVICE else requests.is_removed
    return _keep(contexts, lambda node: not ignored(node))


def _is_compiled(model: CheckedModel, node: Node, loader: Loader) -> bool:
    """Whether XLA compiles a node, and `check.findings.compiled` knows whether it can."""
    from tfport.check.compiled.jit_kernels import jit_kernels  # few models have compiled functions

    return model.compiled_functions.is_compiled(node) and jit_kernels(loader.target, CPU) is not None


def _keep(contexts: NodesByContext, is_kept: Callable[[Node], bool]) -> NodesByContext:
    kept = ((context, [node for node in nodes if is_kept(node)]) for context, nodes in contexts)
    return [(context, nodes) for context, nodes in kept if nodes]


# What the atlas records about an op that is not resolved.


@functools.lru_cache(1024)
def history_of(op: str) -> OpSummary:
    """The releases and packages that register an op."""
    from tfport.atlas.op_search import summaries  # here and below, as a model that runs does not need it

    (history,) = summaries(atlas(), [op])
    return history


@functools.lru_cache(1024)
def close_names(op: str) -> tuple[str, ...]:
    """Recorded ops with a similar name."""
    from tfport.atlas.op_search import suggestions

    return tuple(suggestions(atlas(), op, 1))


def own_libraries(target: Target, op: str) -> tuple[str, ...]:
    """The libraries of the target's own wheels that register an op, once they are loaded."""
    sources = (source for source in target.registry.sources if isinstance(source, RecordedSource))
    return tuple(library for source in sources for library in source.providers(op))
