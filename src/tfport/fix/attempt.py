"""One attempt at a rewrite: convert the model to a form, then apply rules to its nodes.

Forms, from the one that changes least: as it is, with functions and objects kept; as TF1
writes models, with one main graph; the same with branches and loops lowered into it; and with
variables as constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from tfport.atlas.target import TFJS_KIND, Target
from tfport.check.check import RUNS
from tfport.check.check_report import CheckReport, check_model
from tfport.check.devices import is_local, is_present, is_valid_name
from tfport.check.findings.shapes import ContradictedOutputShapes, UndecidedOutputShapes
from tfport.check.xla_modules import XLA_PROGRAM
from tfport.fix.engine import RuleEngine, Stuck
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.metadata import drop_inferred_shapes, producer_for, update_metadata
from tfport.fix.node_checker import NodeChecker
from tfport.fix.options import FixOptions
from tfport.fix.rule import RULES, Rulebook
from tfport.fix.rules.nn.layout import channels_last
from tfport.fix.structure.adapt_to_release import adapt_to_release
from tfport.fix.structure.freeze import freeze
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.prune import ASSERTS, SUMMARIES, disable, prune
from tfport.fix.structure.restructure import Restructuring
from tfport.fix.structure.saver import add_saver
from tfport.fix.structure.session_form import to_session_form
from tfport.fix.structure.signature_outputs import (
    bypass_op,
    feeds_to_placeholders,
    return_inputs_through_identities,
)
from tfport.fix.structure.tfjs_form import (
    compare_instead_of_cast,
    count_axes_from_start,
    crop_ends_first,
    drop_axes_after_steps,
    give_batches_one_shape,
    give_conditions_axes,
    keep_filling,
    restore_shapes_of_found,
    slice_instead_of_pooling,
    start_loops_together,
    to_one_graph,
    wrap_bytes,
)
from tfport.fix.structure.transposes import cancel_transposes
from tfport.fix.xla_programs import expand_modules
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.graph import Node
from tfport.graph.inference_outputs import possible_outputs
from tfport.graph.model import Model
from tfport.graph.op_facts.kinds import FUNCTIONAL
from tfport.graph.reach import every_node
from tfport.graph.state import VARIABLES, GraphVariable, assets
from tfport.registry.unresolved import Question
from tfport.startup.dataclass import dataclass, field

LAYOUT = channels_last.name
ABOUT_SHAPES_IN_FILE = (ContradictedOutputShapes.code, UndecidedOutputShapes.code)


class ModelForm(Enum):
    """The form into which a model is converted before its nodes are rewritten."""

    AS_IT_IS = "as it is"
    SESSION = "as TF1 writes models"
    LOWERED = "as TF1 writes models, branches and loops too"
    FROZEN = "with variables as constants"
    KERAS = "as a Keras file"
    LITE = "as a TensorFlow Lite file"
    TFJS = "as a TensorFlow.js graph model"


@dataclass
class FixAttempt:
    """A model rewritten in one form, and the report of the target about it."""

    form: ModelForm
    model: Model
    journal: Journal
    report: CheckReport
    stuck: list[Stuck] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """Why some structure was not converted."""
    keys: set[str] | None = None
    """The tensors of the checkpoint that are still needed; None for all of them."""
    options: FixOptions = field(default_factory=FixOptions)

    @property
    def runs(self) -> bool:
        """Whether the target loads and runs the model, and ignores no attribute that matters."""
        if self.form is ModelForm.TFJS and (self.stuck or self.reasons):
            return (
                False  # of a model that is no graph model yet, the report leaves out what conversion changes
            )
        return self.report.verdict == RUNS and not any(map(_is_ignored, self.stuck))


OTHERWISE = (Question.KERNEL_LIMIT, Question.KERNEL_ANSWER)


def _is_ignored(stuck: Stuck) -> bool:
    """Whether the target silently ignores an attribute of a node, or computes something else."""
    known = stuck.node.signature.attr_types if stuck.node.signature is not None else {}
    return any(
        p.question in OTHERWISE or (p.question is Question.UNKNOWN_ATTR and p.attr in known)
        for p in stuck.problems
    )


def forms_for(model: Model, target: Target, options: FixOptions) -> Sequence[ModelForm]:
    """The forms worth trying, in order."""
    if target.kind == TFJS_KIND:
        return (ModelForm.TFJS,)
    if options.freeze:
        return (ModelForm.FROZEN,)
    ops = {node.op for node in every_node(model.graph)}
    left_out = {ModelForm.KERAS, ModelForm.LITE, ModelForm.TFJS}  # `fix.keras` and `fix.lite` write them
    left_out |= set() if ops.intersection(VARIABLES) else {ModelForm.FROZEN}
    left_out |= set() if ops.intersection((*FUNCTIONAL, XLA_PROGRAM)) else {ModelForm.LOWERED}
    left_out |= {ModelForm.AS_IT_IS} if options.fetches and not model.signatures else set()  # not extracted
    return [form for form in ModelForm if form not in left_out]


def attempt(model: Model, target: Target, form: ModelForm, options: FixOptions) -> FixAttempt:
    """Convert a copy of the model to a form, rewrite its nodes, and check it against the target."""
    work, journal = model.copy(), Journal()
    _choose(work, options)
    feeds_to_placeholders(work, options.feeds, journal)
    producer = producer_for(work, target)
    checker = NodeChecker(target, producer)
    _unpin(work, target, journal)
    _disable(work, journal, options)
    identities = return_inputs_through_identities(work)
    journal.changed(
        "answered through nodes", "A signature returns an input through an Identity node.", identities
    )
    keys, reasons = None, expand_modules(work, checker, journal)
    if form is not ModelForm.AS_IT_IS:
        try:
            keys, unchanged = _flatten(work, checker, form, journal, options)
            reasons += unchanged
        except StructureRefusal as refusal:
            reasons.append(str(refusal))
    book = Rulebook(options.rules, RULES)
    engine = RuleEngine(checker, book, Facts(work), journal, allow_lossy=options.allow_lossy)
    tensors = set(_named_tensors(work, options))
    named = {name.partition(":")[0] for name in tensors}
    stuck = engine.rewrite(every_node(work.graph), named)
    if any(entry.name == LAYOUT for entry in journal.entries):
        removed = cancel_transposes(work.graph, named)
        says = "Pairs of transpositions that cancel each other are removed."
        journal.changed("without transpositions", says, [(name, "Transpose") for name in removed])
    adapt_to_release(work.graph, checker, engine.facts, journal, tensors)
    if form is ModelForm.TFJS:
        count_axes_from_start(work, engine.facts, journal)
        give_conditions_axes(work, engine.facts, journal)
        compare_instead_of_cast(work, journal)
        wrap_bytes(work, journal)
        give_batches_one_shape(work, engine.facts, journal)
        crop_ends_first(work, engine.facts, journal)
        drop_axes_after_steps(work, engine.facts, journal)
        if target.tfjs is not None:
            slice_instead_of_pooling(work, target.tfjs, journal)
        restore_shapes_of_found(work, engine.facts, journal)
        start_loops_together(work, journal)
    update_metadata(work, target, producer, journal, flat=form is not ModelForm.AS_IT_IS)
    fetches = answers_of(model, options)
    report = _check(work, target, options, fetches)
    if any(finding.stage and finding.code in ABOUT_SHAPES_IN_FILE for finding in report.findings):
        drop_inferred_shapes(work, journal)
        report = _check(work, target, options, fetches)
    if form in (ModelForm.FROZEN, ModelForm.TFJS) and work.checkpoint is not None:
        work.checkpoint.release_memory()  # constants are read from it again when needed
    return FixAttempt(form, work, journal, report, stuck, reasons, keys, options)


def _check(model: Model, target: Target, options: FixOptions, fetches: Sequence[str]) -> CheckReport:
    return check_model(
        model,
        [target],
        loader=options.loaders,
        signatures=options.signatures,
        fetches=fetches,
        ways_out=False,
    )


def _choose(model: Model, options: FixOptions) -> None:
    """Keep the requested signatures."""
    if options.signatures is not None:
        for name in set(model.signatures) - set(options.signatures):
            del model.meta.signature_def[name]
        model.__dict__.pop("signatures", None)


def _unpin(model: Model, target: Target, journal: Journal) -> None:
    changed = []
    for node in every_node(model.graph):
        if node.device and not (
            is_valid_name(node.device) and is_local(node.device) and is_present(node.device, target)
        ):
            changed.append((node.name, node.op))
            node.device = ""
    journal.changed("unpinned", "Nodes are not pinned to a device that the target does not have.", changed)


def _disable(model: Model, journal: Journal, options: FixOptions) -> None:
    answers = set(_ends(model, options))
    nodes = [node for node in every_node(model.graph) if node not in answers]
    disabled = disable(nodes, SUMMARIES)
    journal.changed("without summaries", "Nodes that only write summaries become NoOp.", disabled)
    if options.drop_asserts:
        dropped = disable(nodes, ASSERTS)
        journal.changed("without asserts", "Asserts become NoOp, as requested.", dropped)


def _flatten(
    model: Model, checker: NodeChecker, form: ModelForm, journal: Journal, options: FixOptions
) -> tuple[set[str] | None, list[str]]:
    """Convert the model to TF1's form; returns the tensors it restores, and why some structure stays."""
    variables = to_session_form(model, _ends(model, options), journal)
    if form is ModelForm.TFJS:
        to_one_graph(model, journal)
        prune(model, [*_ends(model, options), *model.init_nodes], journal)
    is_frozen = form in (ModelForm.FROZEN, ModelForm.TFJS)
    reasons = _frozen(model, variables, journal, options) if is_frozen else []
    if checker.definition("IdentityN") is None:
        bypassed = bypass_op(model, "IdentityN")
        journal.changed(
            "answered one by one", "Signatures return each tensor through its own Identity.", bypassed
        )
        prune(model, [*_ends(model, options), *model.init_nodes], journal)
    restructuring = Restructuring(model, checker, journal, lower=form is ModelForm.LOWERED)
    restructuring.run()
    reasons += restructuring.reasons
    if form is ModelForm.TFJS:
        keep_filling(model)
        prune(model, [*_ends(model, options), *model.init_nodes], journal)
    if not variables or form is ModelForm.TFJS:
        is_frozen = is_frozen or model.checkpoint_prefix is not None
        return (set() if is_frozen and model.format is SAVED_MODEL else None), reasons
    ordered = sorted(variables.values(), key=lambda variable: variable.name)
    saver = add_saver(model.graph, ordered, saves=checker.definition("SaveV2") is not None)
    model.meta.saver_def.CopyFrom(saver)
    return {str(variable.key) for variable in ordered}, reasons


def _frozen(
    model: Model, variables: dict[Node, GraphVariable], journal: Journal, options: FixOptions
) -> list[str]:
    """Turn variables into constants, and drop them from `variables`; returns why some remain."""
    frozen, reasons = freeze(model, variables)
    names = [(node.name, node.op) for node in frozen]
    journal.changed("frozen", "Variables become constants with the checkpoint's values.", names)
    prune(model, [*_ends(model, options), *model.init_nodes], journal)
    for node in frozen:
        del variables[node]
    if not variables:
        model.checkpoint_prefix = None
    return reasons


def _ends(model: Model, options: FixOptions) -> list[Node]:
    """The output nodes."""
    if model.signatures:
        return [value.node for signature in model.signatures.values() for value in model.ends_of(signature)]
    return [model.graph.value(name).node for name in answers_of(model, options)]


def answers_of(model: Model, options: FixOptions) -> tuple[str, ...]:
    """The outputs of a graph without signatures: the requested tensors, or a guess."""
    if options.fetches or model.signatures:
        return options.fetches
    return tuple(possible_outputs(model))


def _named_tensors(model: Model, options: FixOptions) -> Iterator[str]:
    """The tensors and nodes of the main graph whose names are used outside of it."""
    saver = model.meta.saver_def
    tensors = [saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name]
    tensors += answers_of(model, options)
    for signature in model.signatures.values():
        for spec in (*signature.inputs.values(), *signature.outputs.values()):
            tensors += spec.tensors
    tensors += [asset.tensor for asset in assets(model)]
    tensors += [node.name for node in model.init_nodes]
    return filter(None, tensors)
