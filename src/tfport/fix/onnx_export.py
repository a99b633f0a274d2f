"""Export a signature as an ONNX file; weights in fewer bits are compared with the model, and certified.

`runtime.export` lowers and writes. With float16 weights, ONNX Runtime runs the written file on generated
inputs, and a certificate says how far its outputs are from those of the model.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from tfport.fix.certify.certificate import LOSSY, Applied, Certificate
from tfport.fix.certify.compare import Tolerance
from tfport.fix.certify.json import certificate_text
from tfport.fix.certify.outcomes import OutcomeComparer
from tfport.fix.certify.provenance import Provenance, RunnerFacts, own_facts, own_name
from tfport.fix.certify.runners import ModelSide, OwnSession, TrialOutcome
from tfport.fix.certify.trial_plan import TrialPlan
from tfport.fix.certify.trials import Trial
from tfport.fix.certify.verification import ALIKE, TrialRecord, Verification
from tfport.fix.export import saved_with
from tfport.fix.lite.input_ranks import with_known_ranks
from tfport.fix.options import UNCHANGED, FixOptions
from tfport.fix.signature_changes import with_signature_changes
from tfport.formats.digests import model_digest, model_files
from tfport.formats.output import certificate_paths, new_path
from tfport.graph.model import Model, Signature
from tfport.runtime.custom.registry import Registry
from tfport.runtime.export import OnnxOptions, export_signature
from tfport.runtime.select_signature import select_signature
from tfport.runtime.session import Session
from tfport.startup.dataclass import dataclass, replace

TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class WrittenOnnx:
    """What was written."""

    signature: Signature
    nodes: int
    inputs: list[str]
    outputs: list[str]
    loss: str = ""
    """How far the outputs are from those of the model, in words; empty if nothing was rounded."""
    differs: bool = False
    """Whether nothing was written, because of that."""


def export_onnx_file(
    model: Model,
    path: str | os.PathLike[str],
    choice: FixOptions,
    options: OnnxOptions,
    registry: Registry | None = None,
    *,
    tolerance: float | None = None,
    command: str = "",
) -> WrittenOnnx:
    """Write the chosen signature; not if float16 weights change outputs by more than the tolerance."""
    if choice.signature_changes:
        model = saved_with(model, choice)
        signature = select_signature(model, None, (), ())
    else:
        model, signature = _with_ranks(model, choice)
    session = Session(model, registry=registry)
    if not options.half_weights:
        graph = export_signature(session, signature, path, options).model.graph
        return _written(signature, graph)
    part = TOLERANCE if tolerance is None else tolerance
    return _certified(model, session, signature, Path(path), options, part, command)


def _with_ranks(model: Model, choice: FixOptions) -> tuple[Model, Signature]:
    """The chosen signature; where inputs have no rank, that which the nodes that read them accept."""
    name = choice.signatures[0] if choice.signatures else None
    signature = select_signature(model, name, choice.fetches, choice.feeds)
    if model.lite is not None or all(spec.shape.dims is not None for spec in signature.inputs.values()):
        return model, signature
    saved = saved_with(model, replace(choice, signatures=(signature.name,) if model.signatures else None))
    ranks = with_known_ranks(saved, UNCHANGED)
    if not ranks:
        return model, signature
    changed = with_signature_changes(saved, ranks)
    return changed, select_signature(changed)


def _written(signature: Signature, graph: Any, loss: str = "", *, differs: bool = False) -> WrittenOnnx:
    inputs, outputs = ([info.name for info in ends] for ends in (graph.input, graph.output))
    return WrittenOnnx(signature, len(graph.node), inputs, outputs, loss, differs)


def _certified(
    model: Model,
    session: Session,
    signature: Signature,
    path: Path,
    options: OnnxOptions,
    part: float,
    command: str,
) -> WrittenOnnx:
    with ExitStack() as together, tempfile.TemporaryDirectory() as folder:
        tried = Path(folder, path.name)
        graph = export_signature(session, signature, tried, options).model.graph
        outputs = dict(zip(signature.outputs, (info.name for info in graph.output), strict=True))
        verification = _compared(model, signature, tried, outputs, part)
        if verification.verdict != ALIKE:
            return _written(signature, graph, verification.statement, differs=True)
        text, page = (together.enter_context(new_path(beside)) for beside in certificate_paths(path))
        for file in sorted(Path(folder).iterdir(), reverse=True):  # the data before the model
            with new_path(path.with_name(file.name)) as written:
                shutil.copyfile(file, written)
        certificate = _certificate(model, path, verification, command)
        text.write_text(certificate_text(certificate), encoding="utf-8")
        page.write_text(certificate.page(), encoding="utf-8")
    return _written(signature, graph, verification.statement)


def _compared(
    model: Model, signature: Signature, path: Path, outputs: dict[str, str], part: float
) -> Verification:
    """Compare the file in ONNX Runtime with the model in tfport, on generated inputs."""
    side = ModelSide(model, {signature.name: signature})
    own = OwnSession(side, None)
    verification = Verification([signature.name], rtol=part)
    verification.settings = {"part": part}
    plan = TrialPlan(side, own.ask, [], verification, own.words())
    tried = list(plan.trials())
    verification.trials += [
        TrialRecord.of(trial, outcome.outputs is not None, outcome.why) for trial, outcome in tried
    ]
    facts, run = _onnx_runtime(path, outputs)
    trials = [trial for trial, outcome in tried if outcome.outputs is not None]
    expected = [outcome for _, outcome in tried if outcome.outputs is not None]
    verification.runners_used += [own_facts(), facts]
    comparer = OutcomeComparer(verification, Tolerance(part, None, 0, part=part))
    comparer.compare(
        facts.name,
        own_name(),
        trials,
        expected,
        [[run(trial) for trial in trials]],
        lambda trial: [own.ask(trial), own.ask(trial)],
    )
    return verification


def _onnx_runtime(path: Path, outputs: dict[str, str]) -> tuple[RunnerFacts, Callable[[Trial], TrialOutcome]]:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    taken = [info.name for info in session.get_inputs()]

    def run(trial: Trial) -> TrialOutcome:
        feeds = {name: np.asarray(trial.inputs[name]) for name in taken if name in trial.inputs}
        try:
            answers = session.run(list(outputs.values()), feeds)
        except Exception as error:  # ONNX Runtime raises many exception classes
            return TrialOutcome(why=str(error).splitlines()[0])
        return TrialOutcome(dict(zip(outputs, answers, strict=True)))

    facts = replace(own_facts(), runtime="onnxruntime", version=ort.__version__, is_target=True)
    return facts, run


def _certificate(model: Model, path: Path, verification: Verification, command: str) -> Certificate:
    source_files = model_files(model.where) if Path(model.where).exists() else {}
    output_files = model_files(str(path))
    rule = Applied("float16 weights", LOSSY, 1, [], "Weights are stored as float16.")
    return Certificate(
        model.where,
        model_digest(model.where, source_files),
        str(path),
        model_digest(str(path), output_files),
        verification.runners_used[-1].name,
        verification,
        [rule],
        made=Provenance(command),
        source_files=source_files,
        output_files=output_files,
        provable=False,
    )
