"""Examine the models of a folder: check each on the targets, scan it, and try to rewrite what fails.

Runs in a worker process. What it returns is plain data for the database; sentences name the model as the
store does, also if its files were copied from there.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any

from tfport.atlas.known_ops import known_ops
from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.target import CONVERTER_KIND, OURS, Target
from tfport.audit.store import SAVED_MODEL_FILES, ModelFolder, name_and_version
from tfport.check.check import FAILS, RUNS, UNKNOWN, Result
from tfport.check.check_report import CheckReport, check_model
from tfport.check.findings.finding import ERROR
from tfport.errors import Error
from tfport.formats.checkpoint.signature import CHECKPOINT
from tfport.formats.files import Folder
from tfport.formats.format import ModelLocation
from tfport.formats.keras.signature import KERAS_WEIGHTS
from tfport.formats.recognize import every_model_in, locate
from tfport.frontends.load import load_any_model
from tfport.graph.model import Model, TensorSpec
from tfport.matrix.matrix import FindingKey
from tfport.runtime.own_target import own_target
from tfport.scan.risk import NOTE
from tfport.scan.scan import scan_loaded
from tfport.startup.dataclass import dataclass

READ, UNREADABLE, STOPPED = "read", "unreadable", "stopped"
"""A model was examined; it could not be read; its examination took too long, or too much memory."""
REWRITTEN, REMAINS, NOT_TRIED = "rewritten", "remains", "not tried"
"""A rewrite gives a model that the target accepts, without comparing outputs; it gives none; not tried."""
WITHOUT_GRAPH = (CHECKPOINT, KERAS_WEIGHTS)
"""Weights alone: nothing in them runs."""
TOO_LONG = "the rewrite did not end within the limits (--timeout, --memory)"
MOST_REASONS = 3
MOST_MESSAGES = 200
LONGEST = 600
_WORST_FIRST = (FAILS, UNKNOWN, RUNS)
Begin = Callable[[str], None]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AuditQuestions:
    """What to ask about each model."""

    on: tuple[str, ...]
    device: str | None = None
    gpu: str | None = None
    scan: bool = True
    try_fix: bool = False

    def targets(self) -> list[Target]:
        return _targets(self.on, self.device, self.gpu)


@cache
def _targets(on: tuple[str, ...], device: str | None, gpu: str | None) -> list[Target]:
    return resolve_targets(on, device=device, gpu=gpu, own=lambda: own_target(None))


def examine_folder(
    folder: ModelFolder, path: str, questions: AuditQuestions, begin: Begin, without: Collection[str] = ()
) -> Iterator[Row]:
    """A row for each model of a folder except those in `without`; its files are at a local path.

    `begin` is called with the path of each model before it is examined.
    """
    for model in _models_at(path):
        where = model[0] if isinstance(model, tuple) else model.where
        stored = folder.path + where.removeprefix(path)
        if stored in without:
            continue
        begin(stored)
        started, cpu = time.monotonic(), time.process_time()
        name, version = name_and_version(stored, folder)
        fixed: Row = {"path": stored, "name": name, "version": version, "owner": folder.owner}
        fixed["bytes"] = _size(stored, folder)
        for row in _rows_of(model, questions):
            times = {"seconds": time.monotonic() - started, "cpu_seconds": time.process_time() - cpu}
            yield {**_named(row, path, folder.path), **fixed, **times}
        gc.collect()  # models are large


def _rows_of(model: ModelLocation | tuple[str, Error], questions: AuditQuestions) -> Iterator[Row]:
    """The row of a model; before a rewrite, which may take long, already without it."""
    if isinstance(model, tuple):
        yield {"status": UNREADABLE, "error": str(model[1])}
        return
    try:
        yield from _examined(model, questions)
    except Error as error:
        yield {"status": UNREADABLE, "format": model.format.key, "error": str(error)}
    except RecursionError:
        yield {"status": UNREADABLE, "format": model.format.key, "error": f"{model.where}: nested too deeply"}


def _models_at(path: str) -> Iterator[ModelLocation | tuple[str, Error]]:
    """The models of a folder, or the one that a file is; weights without a graph are none."""
    try:
        if os.path.isdir(path):
            models = every_model_in(Folder(path))
        else:
            folder, name = os.path.split(path)
            models = iter([locate(Folder(folder), name)])
        for model in models:
            if isinstance(model, tuple):
                folder, name = os.path.split(model[0])
                yield folder if name in SAVED_MODEL_FILES else model[0], model[1]
            elif model.format not in WITHOUT_GRAPH:
                yield model
    except Error as error:
        yield path, error


def _size(stored: str, folder: ModelFolder) -> int:
    inside = stored.removeprefix(folder.path).lstrip("/")
    return folder.files[inside] if inside in folder.files else sum(folder.files.values())


def _named(value: Any, local: str, stored: str) -> Any:
    """The same with the path of the store in place of the local one, in every text."""
    if local == stored:
        return value
    if isinstance(value, str):
        return value.replace(local, stored)
    if isinstance(value, dict):
        return {_named(key, local, stored): _named(inner, local, stored) for key, inner in value.items()}
    return [_named(inner, local, stored) for inner in value] if isinstance(value, list) else value


def _examined(location: ModelLocation, questions: AuditQuestions) -> Iterator[Row]:
    model = load_any_model(location, known_ops())
    report = check_model(model, questions.targets(), ways_out=False, refuses_format=False)
    results = _results(report)
    row = {
        "status": READ,
        "format": model.format.key,
        "producer": _producer(report),
        "signatures": _signatures(model),
        "results": results,
        "risks": _risks(location, model) if questions.scan else [],
    }
    failing = [pair for pair in zip(questions.targets(), results, strict=True) if pair[1]["verdict"] == FAILS]
    if questions.try_fix and failing:
        for _, result in failing:
            result["rewrite"], result["rewrite_reasons"] = NOT_TRIED, [TOO_LONG]
        yield row
        for target, result in failing:
            result["rewrite"], result["rewrite_reasons"] = _rewrite(model, target)
    yield row


def _results(report: CheckReport) -> list[Row]:
    """The worst result of each target: it is what the weakest of its usual loaders does."""
    by_target: dict[str, list[Result]] = {}
    for result in report.results:
        by_target.setdefault(result.target.requirement, []).append(result)
    return [_result(target, results) for target, results in by_target.items()]


def _result(target: str, results: Sequence[Result]) -> Row:
    worst = min(results, key=lambda result: _WORST_FIRST.index(result.verdict))
    stopping = [result for result in results if result.verdict == worst.verdict != RUNS]
    causes: dict[tuple[str, str], Row] = {}
    for finding in (finding for result in stopping for finding in result.findings):
        if finding.stage is not None and finding.severity == ERROR:
            subject = FindingKey(finding.code, finding.op, finding.attr).subject
            cause = {"code": finding.code, "subject": subject, "stage": finding.stage}
            causes.setdefault((finding.code, subject), cause | {"message": finding.message[:LONGEST]})
    return {
        "target": target,
        "verdict": worst.verdict,
        "stage": worst.stage,
        "loaders": [loader for result in stopping for loader in result.loaders] if len(results) > 1 else [],
        "causes": list(causes.values())[:MOST_MESSAGES],
    }


def _rewrite(model: Model, target: Target) -> tuple[str, list[str]]:
    """Whether a rewrite gives a model that the target accepts; its outputs are not compared."""
    if target.kind in (CONVERTER_KIND, OURS):
        return NOT_TRIED, [f"nothing is rewritten for {target.name}"]
    from tfport.fix.fix_to import fix_to  # here, as most audits rewrite nothing
    from tfport.fix.options import FixOptions
    from tfport.fix.result import remaining

    try:
        fixed = fix_to(model, target, "", FixOptions(compare=False))
    except Error as error:
        return NOT_TRIED, [str(error)]
    if fixed.verification is not None:
        return REWRITTEN, []
    errors = sum(f.severity == ERROR and f.stage is not None for f in fixed.attempt.report.findings)
    # what follows the findings is a search for other releases, which takes long
    return REMAINS, [why[:LONGEST] for why in islice(remaining(fixed), min(errors, MOST_REASONS))]


def _producer(report: CheckReport) -> str:
    if report.keras:
        return f"Keras {report.keras}"
    return report.lite or (f"TensorFlow {report.tensorflow}" if report.tensorflow else "")


def _signatures(model: Model) -> Row:
    return {
        name: {
            "inputs": {key: _spec(spec) for key, spec in signature.inputs.items()},
            "outputs": {key: _spec(spec) for key, spec in signature.outputs.items()},
        }
        for name, signature in model.signatures.items()
    }


def _spec(spec: TensorSpec) -> str:
    return f"{spec.dtype} {spec.shape}" + ("" if spec.form == "dense" else f" ({spec.form})")


def _risks(location: ModelLocation, model: Model) -> list[Row]:
    report = scan_loaded(location.where, location, model, known_ops())
    return [
        {
            "code": risk.code,
            "severity": risk.severity,
            "message": risk.message[:LONGEST],
            "moment": risk.moment,
        }
        for risk in report.risks
        if risk.severity != NOTE
    ][:MOST_MESSAGES]
