"""Export a model as a TensorFlow Lite file for an interpreter, and compare the outputs of both.

Signatures are lowered to ONNX as for tfport's own runtime, and translated by what the LiteRT engine uses for
its islands. Operators get the versions that they need; `rewrite` replaces those that the interpreter lacks.
The comparison is by tfport's runtime, and by LiteRT if it is installed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from tfport.atlas.lite.releases import FLEX, LITERT, TENSORFLOW, lite_release, lite_versions
from tfport.atlas.target import Target
from tfport.check.check_report import check_model
from tfport.check.lite.op_versions import needed_version
from tfport.errors import CannotRun, Error
from tfport.extras import installed_version
from tfport.fix.attempt import FixAttempt, ModelForm
from tfport.fix.certify.other_runner import OtherRunner
from tfport.fix.certify.verify import Progress, verify
from tfport.fix.export import saved_with, with_choice_among_changes
from tfport.fix.lite.fix import FixedLite, fix_lite
from tfport.fix.lite.full_integer import FULL_INT8, full_integer, samples_of
from tfport.fix.lite.input_ranks import with_known_ranks
from tfport.fix.lite.interpreter import LiteInterpreter
from tfport.fix.lite.rewrite import LiteRewrite
from tfport.fix.lite.smaller_weights import smaller_weights
from tfport.fix.options import UNCHANGED, FixOptions
from tfport.fix.prove.target_runners import target_runners
from tfport.fix.rule import LOSSY
from tfport.fix.signature_changes import with_signature_changes
from tfport.formats.find import find_model
from tfport.formats.lite.records import LiteFile
from tfport.formats.lite.write import lite_bytes
from tfport.frontends.load import load_any_model
from tfport.graph.model import Model, Signature
from tfport.runtime.custom.registry import Registry
from tfport.runtime.engines.litert.rules.hosted import DIRECT
from tfport.runtime.engines.litert.translate import lite_model
from tfport.runtime.export import lowered_signature
from tfport.runtime.hosted import HostedSteps
from tfport.runtime.onnx.model import OnnxModel
from tfport.runtime.program import Step
from tfport.runtime.session import Session
from tfport.startup.dataclass import dataclass, replace
from tfport.words import count

FORMAT = "TensorFlow Lite"
MAX_LISTED = 20
TOLERANCE = 0.05
MOST_COMPARED = 10
"""Examples to calibrate with on which the outputs are compared, for each signature."""


@dataclass(frozen=True, slots=True)
class LiteExportOptions:
    """How to write the weights, and how far the outputs may then differ."""

    weights: str | None = None
    """`float16`, `int8` (dynamic range) or `full-int8`; None for the types of the model."""
    tolerance: float | None = None
    allow_flex: bool = False
    """Whether ops that TensorFlow Lite lacks are written as Flex ops."""
    calibrate: Mapping[str, Any] | None = None
    """Arrays by the names of inputs, with a row for each example, for `full-int8`."""


AS_IT_IS = LiteExportOptions()


def usual_interpreter(*, with_flex: bool = False) -> str:
    """The interpreter that a file is for, unless the user names one: the installed LiteRT, or the newest.

    With Flex ops it is that of the newest TensorFlow that has the Flex delegate.
    """
    if with_flex:
        newest_first = reversed(list(lite_versions(TENSORFLOW)))
        registries = (lite_release(TENSORFLOW, version) for version in newest_first)
        return next(f"{TENSORFLOW}=={r.version}" for r in registries if r is not None and FLEX in r.delegates)
    installed = installed_version(LITERT)
    if installed and lite_release(LITERT, installed) is not None:
        return f"{LITERT}=={installed}"
    return f"{LITERT}=={list(lite_versions(LITERT))[-1]}"


def export_lite(
    model: Model,
    target: Target,
    output: str | os.PathLike[str],
    options: FixOptions,
    lite: LiteExportOptions = AS_IT_IS,
    registry: Registry | None = None,
    progress: Progress = lambda doing: None,
) -> FixedLite:
    """Translate a model for the interpreter of a target; CannotRun names all that cannot be said."""
    if target.lite is None:
        raise Error(f"{target.name} has no {FORMAT} interpreter; name one, such as ai-edge-litert==2.3.0")
    if model.lite is not None and lite.weights is None:
        return fix_lite(model, target, output, options, progress)
    if model.lite is not None:
        saved, signatures, file = model, model.signatures, model.lite
    else:
        options = with_choice_among_changes(options)
        saved = saved_with(model, options)
        if ranks := with_known_ranks(saved, UNCHANGED):
            saved = with_signature_changes(saved, ranks)
        signatures = {name: signature for name, signature in saved.signatures.items() if signature.outputs}
        if not signatures:
            raise CannotRun(
                f"{model.where}: no signature has outputs; name the tensors to export with --fetch"
            )
        file = translated(saved, signatures, registry, allow_flex=lite.allow_flex)
    rewrite = LiteRewrite(file, target.lite, options.allow_lossy)
    if lite.weights == FULL_INT8:
        if lite.calibrate is None:
            raise Error(f"--weights {FULL_INT8} needs inputs to calibrate with: --calibrate FILE.npz")
        samples = samples_of(lite.calibrate, signatures)
        quantized = full_integer(lite_bytes(rewrite.file), samples)
        rewrite = LiteRewrite(_lite_file(quantized, model), target.lite, options.allow_lossy, rewrite.journal)
        changed = [(name, f"{count(len(calls), 'example')}") for name, calls in samples.items()]
        rewrite.journal.changed(FULL_INT8, "Weights and activations are stored as int8.", changed, LOSSY)
        calls = [call for own in samples.values() for call in own[:MOST_COMPARED]]
        options = replace(options, inputs=options.inputs or tuple(calls))
    elif lite.weights is not None:
        smaller_weights(rewrite.file, lite.weights, rewrite.journal)
        _set_versions(rewrite.file)
    data = lite_bytes(rewrite.file)
    written = load_any_model(find_model(data), model.graph.ops.definitions)
    report = check_model(written, [target], ways_out=False)
    attempt = FixAttempt(
        ModelForm.LITE, written, rewrite.journal, report, reasons=rewrite.reasons, options=options
    )
    if not attempt.runs:
        return FixedLite(model, target, attempt, None)
    written.require_graph()
    tolerance = TOLERANCE if lite.tolerance is None and lite.weights is not None else lite.tolerance
    verification = verify(
        saved,
        written,
        inputs=options.inputs or None,
        signatures=list(signatures),
        rtol=options.rtol if tolerance is None else tolerance,
        atol=options.atol,
        part=tolerance,
        targets=(runners := _runners(target, rewrite.file, options, progress)),
        live=False,
        registry=registry,
        progress=progress,
    )
    if not runners and (ops := _flex_ops(rewrite.file)):
        why = f"no interpreter with the Flex delegate ran {', '.join(ops[:MAX_LISTED])}"
        verification.not_asked.append((target.name, why))
    return FixedLite(model, target, attempt, verification, data)


def _flex_ops(file: LiteFile) -> list[str]:
    """The TensorFlow ops that a file has."""
    nodes = (node for graph in file.subgraphs for node in graph.operators)
    return sorted({node.code.flex_op for node in nodes} - {""})


def _lite_file(data: bytes, model: Model) -> LiteFile:
    file = load_any_model(find_model(data), model.graph.ops.definitions).lite
    assert file is not None
    return file


def translated(
    model: Model,
    signatures: Mapping[str, Signature],
    registry: Registry | None = None,
    *,
    allow_flex: bool = False,
) -> LiteFile:
    """The file of these signatures, with the version that each operator needs."""
    session = Session(model, registry=registry)
    steps = HostedSteps(direct=DIRECT)
    file, reasons = lite_model(_lowered(session, signatures, steps), allow_flex=allow_flex)
    while new := _names(reasons) - steps.lowered:
        steps = replace(steps, lowered=steps.lowered | new)
        file, reasons = lite_model(_lowered(session, signatures, steps), allow_flex=allow_flex)
    while allow_flex and (new := _names(reasons) - steps.forced):
        steps = replace(steps, forced=steps.forced | new)
        file, reasons = lite_model(_lowered(session, signatures, steps), allow_flex=allow_flex)
    if reasons:
        _refuse(model.where, signatures, {name: _sentence(own) for name, own in reasons.items()})
    _set_versions(file)
    return file


LoweredModel = tuple[OnnxModel, list[Step]]


def _lowered(
    session: Session, signatures: Mapping[str, Signature], steps: HostedSteps
) -> dict[str, LoweredModel]:
    """All signatures as ONNX models, with the steps that are not; the error names those that cannot be."""
    lowered: dict[str, LoweredModel] = {}
    errors: dict[str, str] = {}
    where = f"{session.model.where}: "
    for name, signature in signatures.items():
        try:
            hosted = replace(steps, steps=[])
            model = lowered_signature(session, signature, FORMAT, drop_asserts=True, hosted=hosted)
            lowered[name] = model, hosted.steps
        except CannotRun as error:
            errors[name] = str(error).removeprefix(where)
    if errors:
        _refuse(session.model.where, signatures, errors)
    return lowered


def _names(reasons: Mapping[str, Mapping[str, str]]) -> frozenset[str]:
    """The nodes that cannot be said."""
    return frozenset(name for own in reasons.values() for name in own.values() if name)


def _sentence(reasons: Mapping[str, str]) -> str:
    more = f"; and {len(reasons) - MAX_LISTED} more" if len(reasons) > MAX_LISTED else ""
    listed = "; ".join(list(reasons)[:MAX_LISTED])
    return f"{count(len(reasons), 'node')} cannot be expressed in {FORMAT}: {listed}{more}"


def _refuse(where: str, signatures: Mapping[str, Signature], errors: Mapping[str, str]) -> NoReturn:
    """Say which signatures cannot be exported, and why."""
    if len(signatures) == 1:
        raise CannotRun(f"{where}: {next(iter(errors.values()))}")
    other = next((name for name in signatures if name not in errors), None)
    hint = f"; --signature {other} exports another signature" if other else ""
    raise CannotRun(f"{where}: {'; '.join(f'{name}: {error}' for name, error in errors.items())}{hint}")


def _set_versions(file: LiteFile) -> None:
    """Give each operator the version that it needs."""
    for graph in file.subgraphs:
        for node in graph.operators:
            node.code = replace(node.code, version=needed_version(node, graph).version)


def _runners(target: Target, file: LiteFile, options: FixOptions, progress: Progress) -> list[OtherRunner]:
    """The interpreters that run the file: those that the user names, or the one that is installed."""
    if named := target_runners(LiteInterpreter, target, options, progress):
        return named
    installed = installed_version(LITERT)
    if not installed or _flex_ops(file):  # LiteRT has no Flex delegate
        return []
    is_target = target.lite is not None and (target.lite.package, target.lite.version) == (LITERT, installed)
    runner = LiteInterpreter(sys.executable, own=not is_target, is_target=is_target)
    runner.has_signatures = True
    return [runner]
