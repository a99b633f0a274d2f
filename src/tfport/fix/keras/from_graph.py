"""Write a SavedModel, or with `--as-graph` any graph, as a Keras file.

A SavedModel whose layers are all in its configuration is written from it. A subclassed model or a custom
layer is written as the functional model that its traced call is, if each of its weights belongs to a layer.
With `as_graph` weights may also become constants, and a graph without layers is translated op by op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tfport.atlas.target import Target
from tfport.errors import CannotRun, Error, MalformedGraph, UnreadableFile
from tfport.fix.certify.verify import Progress
from tfport.fix.export import frozen_model, saved_with
from tfport.fix.keras.fix import FixedKeras, fix_keras
from tfport.fix.keras.traced.op_layers import NO_LAYER
from tfport.fix.keras.traced.traced_models import (
    TracedFile,
    graph_as_model,
    traced_model,
    with_traced_layers,
)
from tfport.fix.keras.traced.values import AS_GRAPH
from tfport.fix.options import FixOptions
from tfport.formats.format import ModelLocation
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.frontends.keras.build import SIGNATURE
from tfport.frontends.keras.keras_model import keras_model
from tfport.frontends.keras.saved_model import FILE, keras_file_of, keras_model_of
from tfport.graph.model import Model

HINT = "`--as-graph` writes the graph as operations of Keras"


def fix_graph_to_keras(
    model: Model,
    target: Target,
    output: str,
    options: FixOptions,
    progress: Progress = lambda doing: None,
) -> FixedKeras:
    """Write a model that is no Keras file as one, for the Keras of a target."""
    if model.format is not SAVED_MODEL and not options.as_graph:
        raise Error(f"{model.where}: {model.format.name} cannot be written as a Keras file; {HINT}")
    reasons: list[str] = []
    different: FixedKeras | None = None
    if model.format is SAVED_MODEL:
        try:
            keras = keras_model_of(model)
        except (CannotRun, UnreadableFile, MalformedGraph) as error:
            reasons.append(str(error))
        else:
            if not keras.no_graph:
                different = fix_keras(keras, target, output, options, progress, original=model)
                if different.ok or different.verification is not None:
                    return different
            reasons.append(keras.no_graph or "; ".join(different.remaining if different else ()))
    for attempt in _attempts(model, options):
        try:
            original, traced = attempt()
            location = ModelLocation(model.format, model.files, FILE, model.where, is_folder=True)
            keras = keras_model(location, traced.file, model.graph.ops)
            keras.require_graph()
            fixed = fix_keras(keras, target, output, options, progress, original=original, traced=traced)
        except (CannotRun, UnreadableFile, MalformedGraph) as error:
            reasons.append(str(error))
            continue
        if fixed.ok:
            return fixed
        different = different or fixed
    if different is not None:
        return different
    raise CannotRun(_sentence(model, reasons, options))


Attempt = Callable[[], tuple[Model, TracedFile]]


def _attempts(model: Model, options: FixOptions) -> Iterator[Attempt]:
    """The ways to write a model, those that keep more of its layers first."""
    if model.format is SAVED_MODEL:
        for constants in (False, True) if options.as_graph else (False,):
            for way in (with_traced_layers, traced_model):
                yield lambda way=way, constants=constants: (  # type: ignore[misc]
                    model,
                    way(model, keras_file_of(model), constants=constants),
                )
    if options.as_graph:
        yield lambda: _graph(model, options)


def _graph(model: Model, options: FixOptions) -> tuple[Model, TracedFile]:
    saved = saved_with(model, options)
    if SIGNATURE not in saved.signatures:
        raise CannotRun(
            f"it has no signature `{SIGNATURE}`; signatures: {', '.join(saved.signatures)}; "
            f"`tfport export --signature-name {next(iter(saved.signatures))}={SIGNATURE}` renames one"
        )
    return saved, graph_as_model(frozen_model(saved), SIGNATURE)


def _sentence(model: Model, reasons: list[str], options: FixOptions) -> str:
    """Why nothing could be written: what the file lacks, then why its graph is no Keras model."""
    plain = list(dict.fromkeys(reason.removeprefix(f"{model.where}: ") for reason in reasons))
    plain = [*plain[:2], *plain[-1:]] if options.as_graph and len(plain) > 2 else plain[:2]
    helps = not options.as_graph and not any(AS_GRAPH in reason or NO_LAYER in reason for reason in plain)
    return f"{model.where}: {'; '.join([*plain, HINT] if helps else plain)}"
