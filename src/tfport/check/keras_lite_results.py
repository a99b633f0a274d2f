"""What loads a model other than TensorFlow: Keras, TensorFlow.js, TensorFlow Lite, or its converter.

Imported only for their files and targets: most checks need none of it, and few need more than one of them.
`check.check` judges the findings.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.atlas.target import CONVERTER_KIND, TFJS_KIND, Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import LOAD, Finding
from tfport.check.lite.check_lite_file import lite_findings, lite_target, loads_lite_file
from tfport.check.lite.converter import conversion_findings, converts
from tfport.check.loaders import KERAS, LITE, SERVING, is_refused_by_serving
from tfport.check.other_format import OtherFormat

OtherLoad = tuple[Target, str, list[Finding]]
"""What loads the model, its name as a loader, and the findings."""


def other_load(model: CheckedModel, target: Target, loaders: Sequence[str] | None) -> OtherLoad | None:
    """What another loader than those of TensorFlow does; None if one of these loads the model."""
    if converts(model, target):
        return conversion(model, target)
    if target.kind == TFJS_KIND:
        return tfjs_load(model, target)
    if loads_lite_file(model.model, target, loaders):
        return lite_load(model, target)
    if is_refused_by_serving(model.model, target) and loaders is None:
        raise OtherFormat(
            f"{target.name} loads SavedModels, and {model.model.where} is a {model.model.format.name}",
            f"`tfport export {model.model.where} -o OUT --for {target.requirement}` writes one, and "
            "`--loader serving` checks its graph",
            SERVING,
        )
    return keras_load(model, target, loaders)


def lite_load(model: CheckedModel, target: Target) -> OtherLoad:
    """What the interpreter of a target does with a TensorFlow Lite file."""
    on = lite_target(target)
    findings = [finding.on_target(on) for finding in model.once(_lite_findings, target)]
    for finding in findings:
        finding.signatures = sorted(_stopped(model, finding))
        if not finding.signatures:
            finding.stage = None
    return on, LITE, findings


def conversion(model: CheckedModel, target: Target) -> OtherLoad:
    """What the TensorFlow Lite converter of a release does with a model."""
    return target, CONVERTER_KIND, [f.on_target(target) for f in conversion_findings(model, target)]


def tfjs_load(model: CheckedModel, target: Target) -> OtherLoad:
    """What a release of TensorFlow.js does with a model, as its graph model."""
    from tfport.check.tfjs import tfjs_findings

    return target, TFJS_KIND, [f.on_target(target) for f in tfjs_findings(model, target)]


def _stopped(model: CheckedModel, finding: Finding) -> frozenset[str]:
    """The requested signatures that a finding about a TensorFlow Lite file stops."""
    if finding.stage == LOAD:
        return model.signatures
    return model.signatures.intersection(finding.signatures) if finding.stage else frozenset()


def _lite_findings(model: CheckedModel, target: Target) -> list[Finding]:
    assert model.model.lite is not None
    return lite_findings(model.model.lite, target)


def keras_load(model: CheckedModel, target: Target, loaders: Sequence[str] | None) -> OtherLoad | None:
    """What the Keras of a target does with a Keras file; None if TensorFlow loads the model."""
    from tfport.check.keras.check_keras_file import keras_target, loads_keras_file
    from tfport.check.keras.saved_model import is_asked_of_keras, tensorflow_of

    if loads_keras_file(model.model, target, loaders):
        on = keras_target(target)
        findings = [finding.on_target(on) for finding in model.once(_keras_findings, target)]
    elif is_asked_of_keras(model.model, target) and tensorflow_of(target) is None:
        on, findings = target, [_refused(model, target)]
    else:
        return None
    for finding in findings:
        finding.signatures = sorted(model.signatures)
    return on, KERAS, findings


def loading_target(model: CheckedModel, target: Target) -> Target:
    """The target whose TensorFlow loads the model: that of a Keras 2, for a SavedModel."""
    from tfport.check.keras.saved_model import is_asked_of_keras, tensorflow_of

    return (tensorflow_of(target) or target) if is_asked_of_keras(model.model, target) else target


def _refused(model: CheckedModel, target: Target) -> Finding:
    from tfport.check.findings.keras_loader import no_saved_models

    finding = no_saved_models(model.model).on_target(target)
    finding.stage = LOAD
    return finding


def _keras_findings(model: CheckedModel, target: Target) -> list[Finding]:
    from tfport.check.keras.check_keras_file import keras_findings

    assert model.model.keras is not None
    return keras_findings(model.model.keras, target, model.custom)
