"""Write a Keras file as a TensorFlow.js layers model, which `tf.loadLayersModel` reads.

TensorFlow.js reads configurations as Keras 2 spells them, so a file of Keras 3 is rewritten for Keras 2
first, and compared with the original, by `fix.keras`. Layers that the release of TensorFlow.js does not
have are refused: as a graph model (`fix.tfjs`) they run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.target import Target
from tfport.atlas.tfjs.releases import TfjsSource
from tfport.errors import CannotRun, Error
from tfport.fix.certify.verification import Verification
from tfport.fix.fix import Progress
from tfport.fix.keras.fix import FixedKeras, Write, fix_keras
from tfport.fix.options import FixOptions
from tfport.fix.rule import LOSSY
from tfport.fix.tfjs import FEWER_BITS, QUANTIZED, verify_quantized
from tfport.formats.files import Folder
from tfport.formats.find import find_model
from tfport.formats.keras.read import read_keras
from tfport.formats.keras.records import Json, KerasFile
from tfport.formats.tfjs.write import WeightQuantization, stored_array, write_tfjs
from tfport.frontends.keras.instance import KerasModel
from tfport.frontends.load import load_any_model
from tfport.graph.model import Model
from tfport.graph.save_tfjs import NO_QUANTIZATION
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

KERAS_2 = "tensorflow==2.8.4"
"""A release whose configurations TensorFlow.js reads: Keras 2.13 adds the modules of classes to them."""
FILE = "model.h5"


@dataclass
class FixedTfjsLayers(FixedKeras):
    """A Keras file rewritten as a layers model."""

    @property
    def is_tried(self) -> bool:
        return True


def fix_tfjs_layers(
    model: Model,
    target: Target,
    options: FixOptions,
    progress: Progress = lambda doing: None,
    quantization: WeightQuantization = NO_QUANTIZATION,
    tolerance: float | None = None,
) -> FixedTfjsLayers:
    """Rewrite a Keras file as Keras 2 spells it; it is written as a layers model.

    With quantized weights, outputs may differ by `tolerance`, a part of their largest number.
    """
    if not isinstance(model, KerasModel):
        raise CannotRun(f"{model.where}: {model.format.name} has no layers; `--format tfjs` writes its graph")
    if options.signature_changes:
        raise Error(f"{model.where}: a layers model has no signatures that can be renamed or resized")
    assert target.tfjs is not None
    (keras_2,) = resolve_targets(KERAS_2)
    rewritten = fix_keras(model, keras_2, FILE, options, progress)
    values = {field.name: getattr(rewritten, field.name) for field in fields(FixedKeras)}
    fixed = FixedTfjsLayers(**values)
    if fixed.write is not None:
        fixed.target = target
        _only_known(fixed.write, target.tfjs, model.where)
        fixed.write = _writer(fixed.write, quantization)
        if quantization.patterns and fixed.ok:
            fixed.journal.changed(QUANTIZED, FEWER_BITS, [("", "")], LOSSY)
            fixed.verification = _verify_written(fixed.write, model, options, tolerance, progress)
    return fixed


def _verify_written(
    write: Write, model: Model, options: FixOptions, tolerance: float | None, progress: Progress
) -> Verification:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        write(path)
        written = load_any_model(find_model(str(path)), model.graph.ops.definitions)
        written.require_graph()
        return verify_quantized(model, written, options, tolerance, progress)


def _only_known(write_h5: Write, release: TfjsSource, where: str) -> None:
    if problems := list(dict.fromkeys(_problems(_read(write_h5).config, release.layers))):
        raise CannotRun(
            f"{where}: tfjs {release.version} has no {', '.join(problems)}; "
            "`--format tfjs` writes a graph model, which needs no layers"
        )


def _problems(config: Any, known: Collection[str]) -> Iterator[str]:
    """Layers and activations of a configuration that are not known, those of inner models and layers too."""
    if isinstance(config, list):
        for item in config:
            yield from _problems(item, known)
        return
    inner = config.get("config") if isinstance(config, Mapping) else None
    if not isinstance(inner, Mapping):
        return
    class_name = str(config["class_name"])
    if class_name not in known:
        yield f"layer {class_name}"
    if inner.get("reset_after"):
        yield f"{class_name} with reset_after"
    if inner.get("padding") == "causal":
        yield f"{class_name} with causal padding"
    if class_name == "Resizing":  # it states its sizes without the batch
        yield f"{class_name} that other layers can follow"
    if class_name == "ELU" and inner.get("alpha", 1) != 1:
        yield f"ELU with alpha {inner['alpha']}"
    for option in ("activation", "recurrent_activation"):
        name = inner.get(option)
        if isinstance(name, str) and not {name, _camel_case(name)}.intersection(known):
            yield f"activation {name}"
    for option, value in inner.items():
        if option.endswith(PARTS) and isinstance(value, Mapping) and "class_name" in value:
            class_name = str(_renamed(value)["class_name"])
            if class_name not in known:
                yield f"{option.rpartition('_')[2]} {class_name}"
    for option in ("layers", "layer", "cell", "cells", "backward_layer"):
        yield from _problems(inner.get(option), known)


PARTS = ("_initializer", "_regularizer", "_constraint")
"""How options of layers end that name a class with a configuration."""
RENAMED = {"LecunNormal": "LeCunNormal", "LecunUniform": "LeCunUniform"}
L1_AND_L2 = "L1L2"


def _renamed(part: Mapping[str, Any]) -> dict[str, Any]:
    """An initializer, regularizer or constraint as TensorFlow.js spells it; L1 and L2 are one class there."""
    class_name, config = str(part["class_name"]), part.get("config")
    if class_name in ("L1", "L2") and isinstance(config, Mapping):
        return {**part, "class_name": L1_AND_L2, "config": {"l1": 0.0, "l2": 0.0, **config}}
    return {**part, "class_name": RENAMED.get(class_name, class_name)}


def _with_renamed_parts(config: Json) -> Json:
    """A configuration, in which TensorFlow.js finds all classes."""
    if isinstance(config, list):
        return [_with_renamed_parts(item) for item in config]
    if not isinstance(config, Mapping):
        return config
    return {
        name: _renamed(value)
        if name.endswith(PARTS) and isinstance(value, Mapping) and "class_name" in value
        else _with_renamed_parts(value)
        for name, value in config.items()
    }


def _camel_case(name: str) -> str:
    first, *more = name.split("_")
    return first + "".join(map(str.capitalize, more))


def _writer(write_h5: Write, quantization: WeightQuantization) -> Write:
    def write(path: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = _written(write_h5, folder)
            write_tfjs(path, _document(file), _weights(file), quantization)

    return write


def _read(write_h5: Write) -> KerasFile:
    with tempfile.TemporaryDirectory() as folder:
        return _written(write_h5, folder)


def _written(write_h5: Write, folder: str) -> KerasFile:
    write_h5(Path(folder, FILE))
    return read_keras(Folder(folder), FILE)


def _document(file: KerasFile) -> dict[str, Json]:
    config = _with_renamed_parts(file.config)
    topology = {"keras_version": file.keras_version, "backend": "tensorflow", "model_config": config}
    return {
        "format": "layers-model",
        "generatedBy": f"keras v{file.keras_version}",
        "convertedBy": "tfport",
        "modelTopology": topology,
    }


def _weights(file: KerasFile) -> Iterator[tuple[str, NDArray[Any]]]:
    assert file.weights is not None
    both_ways = dict(_wrapped(file.config, "Bidirectional"))
    each_step = dict(_wrapped(file.config, "TimeDistributed"))
    for layer, weights in file.weights.lists.items():
        names = [weight.name.removesuffix(":0") for weight in weights]
        if layer in both_ways:
            names = _names_both_ways(layer, both_ways[layer], names)
        elif layer in each_step:
            names = [f"{layer}/{name.rpartition('/')[2]}" for name in names]
        for name, weight in zip(names, weights, strict=True):
            yield name, stored_array(weight.read(), name)


def _wrapped(config: Any, wrapper: str) -> Iterator[tuple[str, str]]:
    """The name of each layer of this class with that of the layer in it; models in it keep their names."""
    if isinstance(config, list):
        for item in config:
            yield from _wrapped(item, wrapper)
    elif isinstance(config, Mapping) and isinstance(inner := config.get("config"), Mapping):
        if config["class_name"] == wrapper and "layers" not in inner["layer"]["config"]:
            yield str(inner["name"]), str(inner["layer"]["config"]["name"])
        yield from _wrapped(inner.get("layers"), wrapper)


def _names_both_ways(layer: str, inner: str, names: Sequence[str]) -> list[str]:
    """The names that TensorFlow.js gives the weights: those of one direction, then those of the other."""
    leaves = [name.rpartition("/")[2] for name in names[: len(names) // 2]]
    return [f"{layer}/{way}_{inner}/{leaf}" for way in ("forward", "backward") for leaf in leaves]
