"""What loads a model other than TensorFlow: Keras, a TensorFlow Lite interpreter, or its converter.

Imported only for their files and targets: most checks need none of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.atlas.target import CONVERTER_KIND, Target
from tfport.check.check import Result, verdict_of
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import LOAD, Finding
from tfport.check.keras.check_keras_file import keras_findings, keras_target, loads_keras_file
from tfport.check.lite.check_lite_file import lite_findings, lite_target, loads_lite_file
from tfport.check.lite.converter import conversion_findings, converts
from tfport.check.loaders import KERAS, LITE


def other_result(model: CheckedModel, target: Target, loaders: Sequence[str] | None) -> Result | None:
    """The result of another loader than those of TensorFlow; None if one of these loads the model."""
    if converts(model, target):
        return conversion_result(model, target)
    if loads_lite_file(model.model, target, loaders):
        return lite_result(model, target)
    return keras_result(model, target, loaders)


def lite_result(model: CheckedModel, target: Target) -> Result:
    """What the interpreter of a target does with a TensorFlow Lite file."""
    on = lite_target(target)
    findings = [finding.on_target(on) for finding in model.once(_lite_findings, target)]
    for finding in findings:
        finding.signatures = sorted(_stopped(model, finding))
        if not finding.signatures:
            finding.stage = None
    verdict, stage = verdict_of(findings)
    return Result(on, (LITE,), verdict, stage, findings)


def conversion_result(model: CheckedModel, target: Target) -> Result:
    """What the TensorFlow Lite converter of a release does with a model."""
    findings: list[Finding] = [f.on_target(target) for f in conversion_findings(model, target)]
    verdict, stage = verdict_of(findings)
    return Result(target, (CONVERTER_KIND,), verdict, stage, findings)


def _stopped(model: CheckedModel, finding: Finding) -> frozenset[str]:
    """The requested signatures that a finding about a TensorFlow Lite file stops."""
    if finding.stage == LOAD:
        return model.signatures
    return model.signatures.intersection(finding.signatures) if finding.stage else frozenset()


def _lite_findings(model: CheckedModel, target: Target) -> list[Finding]:
    assert model.model.lite is not None
    return lite_findings(model.model.lite, target)


def keras_result(model: CheckedModel, target: Target, loaders: Sequence[str] | None) -> Result | None:
    """What the Keras of a target does with a Keras file; None if TensorFlow loads the model."""
    if not loads_keras_file(model.model, target, loaders):
        return None
    on = keras_target(target)
    findings = [finding.on_target(on) for finding in model.once(_keras_findings, target)]
    for finding in findings:
        finding.signatures = sorted(model.signatures)
    verdict, stage = verdict_of(findings)
    return Result(on, (KERAS,), verdict, stage, findings)


def _keras_findings(model: CheckedModel, target: Target) -> list[Finding]:
    assert model.model.keras is not None
    return keras_findings(model.model.keras, target)
