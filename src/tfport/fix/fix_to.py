"""Rewrite a model for the output that the user names: a Keras or TensorFlow Lite file, or a graph."""

from __future__ import annotations

from tfport.atlas.target import CONVERTER_KIND, KERAS_KIND, LITE_KIND, TFJS_KIND, Target
from tfport.errors import Error
from tfport.fix.export import export_for
from tfport.fix.fix import Progress, fix_model
from tfport.fix.keras.dialect import Dialect
from tfport.fix.keras.fix import fix_keras, is_keras_output
from tfport.fix.keras.from_graph import fix_graph_to_keras
from tfport.fix.lite.fix import SUFFIXES, fix_lite
from tfport.fix.options import FixOptions
from tfport.fix.result import Fixed
from tfport.fix.tfjs import fix_tfjs
from tfport.frontends.keras.instance import KerasModel
from tfport.graph.model import Model


def fix_to(
    model: Model,
    target: Target,
    output: str,
    options: FixOptions,
    progress: Progress = lambda doing: None,
) -> Fixed:
    """Rewrite a model for a target; the name of the output decides what a Keras model becomes.

    Without a name, a Keras or TensorFlow Lite file for a runtime of such files stays one.
    """
    output = output or _usual_output(model, target)
    if options.signature_changes and (is_keras_output(output) or output.endswith(SUFFIXES)):
        raise Error(f"{output}: only a SavedModel has signatures that can be renamed or resized")
    if target.kind == CONVERTER_KIND:
        raise Error(
            f"{target.name} converts models and runs none, so nothing is rewritten for it; "
            f"`tfport check MODEL --on {target.requirement}` says which ops it does not convert"
        )
    if target.kind == TFJS_KIND:
        return fix_tfjs(model, target, options, progress)
    if model.lite is not None and (target.kind == LITE_KIND or output.endswith(SUFFIXES)):
        return fix_lite(model, target, output, options, progress)
    if isinstance(model, KerasModel) and (is_keras_output(output) or target.kind == KERAS_KIND):
        return fix_keras(model, target, output, options, progress)
    if is_keras_output(output):
        return fix_graph_to_keras(model, target, output, options, progress)
    if model.keras is not None or model.lite is not None or options.signature_changes:
        return export_for(model, target, as_graph=output.endswith(".pb"), options=options, progress=progress)
    return fix_model(model, target, options, progress)


def _usual_output(model: Model, target: Target) -> str:
    if isinstance(model, KerasModel) and target.kind == KERAS_KIND and target.keras is not None:
        return f"model{Dialect(target.keras).suffix}"
    return f"model{SUFFIXES[0]}" if model.lite is not None and target.kind == LITE_KIND else ""
