"""Rewrite a TensorFlow Lite file for an interpreter, and verify the result."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

from tfport.atlas.target import Target
from tfport.check.check_report import check_model
from tfport.check.findings.finding import ERROR
from tfport.errors import Error
from tfport.fix.attempt import FixAttempt, ModelForm
from tfport.fix.certify.verification import Verification
from tfport.fix.certify.verify import Progress, verify
from tfport.fix.lite.interpreter import LiteInterpreter
from tfport.fix.lite.rewrite import LiteRewrite
from tfport.fix.options import FixOptions
from tfport.fix.prove.target_runners import target_runners
from tfport.fix.result import Fixed, grouped
from tfport.fix.rule import EXACT
from tfport.fix.tried_releases import LITE_FILES, is_tried
from tfport.formats.find import find_model
from tfport.formats.lite.write import lite_bytes
from tfport.formats.output import new_path
from tfport.frontends.load import load_any_model
from tfport.graph.model import Model
from tfport.startup.dataclass import dataclass

SUFFIXES = (".tflite", ".lite", ".litert")


@dataclass
class FixedLite(Fixed):
    """A TensorFlow Lite file rewritten for an interpreter."""

    data: bytes = b""
    """The new file."""

    @cached_property
    def remaining(self) -> list[str]:
        """What the interpreter still does not accept, and why no rule helps."""
        if self.verification is not None:
            return []
        findings = [f for f in self.attempt.report.findings if f.severity == ERROR and f.stage]
        reasons = grouped(self.attempt.reasons)
        return [*(f"{finding.code}: {finding.message}" for finding in findings), *reasons]

    @property
    def is_tried(self) -> bool:
        interpreter = self.target.lite
        return interpreter is not None and is_tried(LITE_FILES, interpreter.package, interpreter.version)

    def _write(self, path: str | os.PathLike[str]) -> str:
        with new_path(path) as temporary:
            temporary.write_bytes(self.data)
        return str(path)


def fix_lite(
    model: Model,
    target: Target,
    output: str | os.PathLike[str],
    options: FixOptions,
    progress: Progress = lambda doing: None,
) -> FixedLite:
    """Rewrite a TensorFlow Lite file for the interpreter of a target."""
    assert model.lite is not None
    if Path(output).suffix.lower() not in SUFFIXES:
        raise Error(f"{output}: a TensorFlow Lite file is written again as .tflite")
    if target.lite is None:
        raise Error(
            f"{target.name} has no TensorFlow Lite interpreter; name one, such as ai-edge-litert==2.3.0"
        )
    model.require_graph()
    rewrite = LiteRewrite(model.lite, target.lite, options.allow_lossy)
    data = lite_bytes(rewrite.file)
    written = load_any_model(find_model(data), model.graph.ops.definitions)
    report = check_model(written, [target], ways_out=False)
    attempt = FixAttempt(ModelForm.LITE, written, rewrite.journal, report, reasons=rewrite.reasons)
    if not attempt.runs:
        return FixedLite(model, target, attempt, None)
    written.require_graph()
    if not options.compare:
        return FixedLite(model, target, attempt, Verification([]), data)
    verification = verify(
        model,
        written,
        inputs=options.inputs or None,
        rtol=options.rtol,
        atol=options.atol,
        steps=0 if rewrite.journal.keeps is EXACT else 1,
        targets=target_runners(LiteInterpreter, target, options, progress),
        live=False,
        progress=progress,
    )
    return FixedLite(model, target, attempt, verification, data)
