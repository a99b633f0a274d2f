"""Rewrite a Keras file for another release of Keras, and verify the result.

The configuration is written in the words of the target (`config_writer`), with other layers where the
target computes something else (`replacements`) and the weights in its layout (`weights`); `rewrite` puts them
together. The written file is read again, checked against the target and compared with the original.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from tfport.atlas.keras_releases import KERAS_CORE
from tfport.atlas.target import Target
from tfport.check.check import UNKNOWN
from tfport.check.check_report import CheckReport, check_model
from tfport.check.findings.finding import ERROR
from tfport.check.findings.keras_files import KerasTensorFlowLayer
from tfport.errors import Error
from tfport.fix.attempt import FixAttempt, ModelForm
from tfport.fix.certify.verification import Verification
from tfport.fix.certify.verify import Progress, verify
from tfport.fix.journal import Journal
from tfport.fix.keras.dialect import Dialect
from tfport.fix.keras.keras_runner import KerasRunner
from tfport.fix.keras.named_as_keras import compared_form, has_signature
from tfport.fix.keras.rewrite import KerasRewrite
from tfport.fix.keras.traced.traced_models import TracedFile
from tfport.fix.options import FixOptions
from tfport.fix.prove.target_runners import target_runners
from tfport.fix.result import Fixed, grouped
from tfport.fix.tried_releases import KERAS_FILES, is_tried
from tfport.formats.find import find_model
from tfport.formats.keras.saved_model import SAVED_MODEL
from tfport.formats.output import new_path
from tfport.frontends.keras.instance import KerasModel
from tfport.frontends.keras.saved_model import NORMALIZATION, learned_sizes
from tfport.frontends.load import load_any_model
from tfport.graph.model import Model
from tfport.startup.dataclass import dataclass, replace

SUFFIXES = (".keras", ".h5", ".hdf5")
Write = Callable[[Path], None]
NO_SIGNATURE = (
    "The SavedModel has no signature: the file is compared with the layers of its configuration, not with "
    "its graph."
)

LEARNED_SIZES = (
    "Inputs of an open size have the one that Normalization learned; the SavedModel also takes size 1 and "
    "repeats it."
)


@dataclass
class FixedKeras(Fixed):
    """A Keras file rewritten for a release of Keras."""

    write: Write | None = None
    """Writes the file; None if it was refused."""

    @property
    def failure(self) -> str:
        return f"it cannot be rewritten for {self.target.name}" if self.attempt.reasons else super().failure

    @property
    def is_tried(self) -> bool:
        release = self.target.keras
        return release is not None and is_tried(KERAS_FILES, release.package, release.version)

    @cached_property
    def remaining(self) -> list[str]:
        """Why the file cannot be written for the target, or what the target still does not accept."""
        if self.verification is not None:
            return []
        findings = [f for f in self.attempt.report.findings if f.severity == ERROR and f.stage]
        reasons = list(grouped(self.attempt.reasons))
        return reasons or [f"{finding.code}: {finding.message}" for finding in findings]

    def _write(self, path: str | os.PathLike[str]) -> str:
        assert self.write is not None
        with new_path(path) as temporary:
            self.write(temporary)
        return str(path)


def is_keras_output(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() in SUFFIXES


def fix_keras(
    model: KerasModel,
    target: Target,
    output: str | os.PathLike[str],
    options: FixOptions,
    progress: Progress = lambda doing: None,
    original: Model | None = None,
    traced: TracedFile | None = None,
) -> FixedKeras:
    """Rewrite a Keras file for the Keras of a target.

    `original` is the SavedModel that it was read from: its graph is what the result is compared with;
    `traced` says what of it is traced calls.
    """
    model.require_graph()
    dialect = _dialect(model, target, output)
    rewrite = KerasRewrite(model, dialect)
    if traced is not None:
        _note_traces(rewrite.journal, traced)
    if rewrite.refused:
        report = _checked(_as_architecture(model), target)
        attempt = FixAttempt(ModelForm.KERAS, model, Journal(), report, reasons=rewrite.refused)
        return FixedKeras(original or model, target, attempt, None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"model{Path(output).suffix}")
        rewrite.write(path)
        written = load_any_model(find_model(str(path)), model.graph.ops.definitions)
        written.require_graph()
        if original is not None and not has_signature(original):
            rewrite.journal.changed("without a signature", NO_SIGNATURE, [("", "")])
        if original is not None and (sizes := learned_sizes(original)):
            rewrite.journal.changed("learned sizes", LEARNED_SIZES, [(name, NORMALIZATION) for name in sizes])
        attempt = FixAttempt(ModelForm.KERAS, written, rewrite.journal, _checked(written, target))
        needed = _needed_beside_keras(attempt.report)
        if not attempt.runs and not needed:
            return FixedKeras(original or model, target, attempt, None)
        if not options.compare:
            return FixedKeras(original or model, target, attempt, Verification([]), rewrite.write)
        verification = verify(
            model if original is None else compared_form(original, written, model),
            written,
            inputs=options.inputs or None,
            rtol=options.rtol,
            atol=options.atol,
            targets=target_runners(KerasRunner, target, options, progress),
            progress=progress,
        )
        verification.needed += needed
    return FixedKeras(original or model, target, attempt, verification, rewrite.write)


def _note_traces(journal: Journal, traced: TracedFile) -> None:
    says = (
        "Traced calls are written as functional models; what only training uses, such as Dropout inside "
        "a custom layer, is lost."
    )
    journal.changed("traced calls", says, [(name, "call") for name in traced.traced])
    says = "Weights that no layer has are constants of operations, and are not trained."
    journal.changed("constants", says, [(name, "weight") for name in traced.constants])


def _needed_beside_keras(report: CheckReport) -> list[str]:
    """What must be installed beside Keras, if nothing else stands in the way."""
    stopping = [finding for finding in report.findings if finding.stage]
    only_tensorflow = all(finding.code == KerasTensorFlowLayer.code for finding in stopping)
    return [finding.message for finding in stopping] if report.verdict == UNKNOWN and only_tensorflow else []


def _checked(model: Model, target: Target) -> CheckReport:
    return check_model(model, [target], ways_out=False)


def _as_architecture(model: KerasModel) -> Model:
    """The model as a file that a Keras reads: of a SavedModel, its configuration alone."""
    if model.keras is None or model.keras.layout != SAVED_MODEL:
        return model
    return replace(model, keras=replace(model.keras, layout="json"))


def _dialect(model: KerasModel, target: Target, output: str | os.PathLike[str]) -> Dialect:
    release = target.keras
    if release is None or release.package == KERAS_CORE:
        raise Error(f"{target.name}: tfport writes Keras files for keras, tf-keras and tensorflow")
    dialect = Dialect(release)
    suffix = Path(output).suffix.lower()
    if suffix != dialect.suffix and not (suffix == ".hdf5" and not dialect.is_3):
        raise Error(f"{output}: for {release.name} the file must end in {dialect.suffix}")
    return dialect
