"""What a Keras file becomes for another release: its configuration, its weights, and notes of each change.

A functional model of Keras 3 with `Embedding(mask_zero=True)` or `Masking` contains `NotEqual` layers, whose
results are the `mask` arguments of later calls. Keras 2 passes masks from layer to layer itself: it has no
such layers and does not need them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tfport.errors import CannotRun
from tfport.fix.journal import Journal
from tfport.fix.keras.compile_arguments import CompileArguments, compile_arguments
from tfport.fix.keras.config_writer import ConfigWriter
from tfport.fix.keras.dialect import Dialect
from tfport.fix.keras.encodings import with_stated_encodings
from tfport.fix.keras.inner_shapes import with_called_shapes
from tfport.fix.keras.loadable_calls import (
    with_merging_layers,
    with_outputs_after_models,
    with_taken_elements,
)
from tfport.fix.keras.op_nodes import NODE_LAYER, with_functions
from tfport.fix.keras.operators import with_functions_of, with_operators_of
from tfport.fix.keras.replacements import (
    HARD_SIGMOID,
    with_activation_layers,
    with_causal_masks_of,
    with_explicit_hard_sigmoid,
)
from tfport.fix.keras.weights import WeightTransfer, by_layer, by_path, scaled_cells
from tfport.fix.rule import ROUNDING
from tfport.formats.keras.records import Json, KerasFile
from tfport.formats.keras.write import write_archive, write_h5
from tfport.frontends.keras.build import ModelBuilder
from tfport.frontends.keras.config import (
    SEQUENTIAL,
    LayerCall,
    LayerConfig,
    ModelConfig,
    TensorRef,
    every_ref,
    model_config,
)
from tfport.frontends.keras.instance import KerasModel, LayerInstance
from tfport.frontends.keras.layer_order import layers_in_order
from tfport.frontends.keras.tensor import flat_tensors
from tfport.frontends.keras.version import KerasVersion


class KerasRewrite:
    """The parts of the new file."""

    def __init__(self, model: KerasModel, dialect: Dialect) -> None:
        file, root = model.keras, model.root
        assert file is not None
        assert file.config is not None
        assert root is not None
        self.dialect, self.journal = dialect, Journal()
        old = KerasVersion.parse(file.keras_version)
        layers = model_config(file.config, file.where)
        renamed = with_explicit_hard_sigmoid(layers, old, dialect)
        activated = with_activation_layers(layers, dialect)
        masked = [] if dialect.is_3 else without_implied_masks(layers)
        with_causal_masks_of(layers, dialect)
        if dialect.layer(NODE_LAYER) is None:
            with_functions(layers)
        operators = with_operators_of(layers, dialect)
        missing = [] if dialect.is_3 else with_functions_of(layers, dialect)
        taken, unreadable = with_taken_elements(layers, dialect, root)
        encodings = with_stated_encodings(layers, old, dialect, root)
        with_called_shapes(layers, root)
        before_outputs = with_outputs_after_models(layers, dialect, root)
        sort_layers(layers)
        merging = with_merging_layers(layers, dialect, root)
        writer = ConfigWriter(dialect, file.where)
        self.config: Json = writer.model(layers, root)
        self.refused = list(dict.fromkeys([*missing, *unreadable, *writer.refused]))
        outputs = 1 if layers.class_name == SEQUENTIAL else len(list(flat_tensors(layers.outputs)))
        self.arguments = compile_arguments(file, dialect, outputs) if file.training else CompileArguments()
        self._note(writer, renamed, scaled_cells(root, old, dialect.semantics), file)
        says = f"Masks are not written: {dialect.release.name} passes them from layer to layer itself."
        self.journal.changed("implied masks", says, [(layer, MASK) for layer in masked])
        says = f"Operators on tensors are written as {dialect.release.name} stores them."
        self.journal.changed("operators", says, [(layer, "operator") for layer in operators], ROUNDING)
        says = f"Activations that {dialect.release.name} does not have are written as layers."
        nodes = [(layer, "activation") for layer in activated.values()]
        self.journal.changed("activations as layers", says, nodes)
        says = f"Linear activations follow inner models that are outputs, as {dialect.release.name} needs."
        nodes = [(layer, "Activation") for layer in before_outputs.values()]
        self.journal.changed("outputs after inner models", says, nodes)
        says = f"Operators on tensors become layers, which {dialect.release.name} loads in any order."
        self.journal.changed("operators as layers", says, [(layer, "operator") for layer in merging])
        says = f"Take picks elements of an axis: {dialect.release.name} loads no key of several parts."
        self.journal.changed("elements of an axis", says, [(layer, "GetItem") for layer in taken])
        says = f"Categories are encoded by layers whose shapes {dialect.release.name} states rightly."
        self.journal.changed("encoded categories", says, [(layer, "encoding") for layer in encodings])
        self.root: LayerInstance | None = None
        if self.refused:
            return
        new = KerasFile(file.where, "keras", self.config, None, dialect.version)
        try:
            self.root, _ = ModelBuilder(new, model.graph.ops).build_layers()
            transfer = WeightTransfer(old, dialect.semantics, renamed | activated | before_outputs)
            self.arrays = {id(slot): array for slot, array in transfer.arrays(root, self.root)}
        except CannotRun as error:
            self.refused.append(str(error).removeprefix(f"{file.where}: "))

    def write(self, path: Path) -> None:
        assert self.root is not None
        training = self.arguments.stored
        if self.dialect.is_3:
            config = {**self.config, "compile_config": training} if training is not None else self.config
            write_archive(path, config, by_path(self.root, self.arrays), self.dialect.version)
        else:
            lists = by_layer(self.root, self.arrays, self.dialect)
            write_h5(path, self.config, lists, self.dialect.version, training)

    def _note(
        self, writer: ConfigWriter, renamed: dict[str, str], scaled: list[str], file: KerasFile
    ) -> None:
        """Record the changes for the certificate."""
        changed = self.journal.changed
        name = self.dialect.release.name
        changed("written", f"The file is written the way {name} writes it.", [(file.where, file.layout)])
        dropped = sorted(writer.dropped)
        says = (
            f"Options that {name} does not have are dropped because their values do not change the answers: "
        )
        nodes = [(layer, option) for option in dropped for layer in writer.dropped[option]]
        changed("without options", f"{says}{', '.join(dropped)}.", nodes)
        for classes, layers in writer.replaced.items():
            says = f"Layers are replaced with equivalent ones: {classes}."
            changed(f"replaced {classes}", says, [(layer, classes) for layer in layers], ROUNDING)
        why = f"hard_sigmoid is a different function in {name}:"
        nodes = [(layer, HARD_SIGMOID) for layer in renamed.values()]
        changed("hard_sigmoid as layers", f"{why} it is written as Rescaling and ReLU.", nodes, ROUNDING)
        nodes = [(layer, HARD_SIGMOID) for layer in scaled]
        changed("scaled gates", f"{why} the weights of its gates are scaled.", nodes, ROUNDING)
        self._note_training(file)

    def _note_training(self, file: KerasFile) -> None:
        changed, why = self.journal.changed, self.arguments.why
        if self.arguments.stored is not None:
            says = "The arguments of compile are written; the state of the optimizer is left out."
            changed("new optimizer", says, [("", "")])
            says = f"Metrics that {self.dialect.release.name} does not have are left out."
            changed("without metrics", says, [("", metric) for metric in self.arguments.dropped])
        elif file.training:
            says = f"The optimizer and the settings of compile are left out: {why}."
            changed("without training", says, [("", "")])


def sort_layers(model: ModelConfig) -> None:
    """Put the layers into the order of Keras, which counts for the weights: new layers change it."""
    model.layers = layers_in_order(model)
    for layer in model.layers:
        if layer.model is not None:
            sort_layers(layer.model)


# Masks that Keras 3 stores as operations.

MASK, NOT_EQUAL = "mask", "NotEqual"


def without_implied_masks(model: ModelConfig) -> list[str]:
    """Remove masks that follow from the layers; returns the layers that were called with one."""
    changed = [
        name
        for layer in model.layers
        if layer.model is not None
        for name in without_implied_masks(layer.model)
    ]
    by_name = {layer.name: layer for layer in model.layers}
    sources = list(_sources_of_masks(model))
    removable: set[str] = set()
    for layer in model.layers:
        for number, call in enumerate(layer.calls):
            operations = _operations(call.kwargs.get(MASK), by_name, sources)
            if operations:
                removable |= operations
                kwargs = {name: value for name, value in call.kwargs.items() if name != MASK}
                layer.calls[number] = LayerCall(call.args, kwargs)
                changed.append(layer.name)
    _remove_unused(model, removable)
    return changed


def _sources_of_masks(model: ModelConfig) -> Iterator[tuple[TensorRef, Any]]:
    """Tensors with the value that a layer masks in them."""
    for layer in model.layers:
        value = layer.config.get("mask_value", 0.0) if layer.class_name == "Masking" else 0
        if layer.class_name == "Masking" or (
            layer.class_name == "Embedding" and layer.config.get("mask_zero")
        ):
            yield from ((ref, value) for call in layer.calls for ref in every_ref(call.args[:1]))


def _operations(
    mask: Any, layers: Mapping[str, LayerConfig], sources: list[tuple[TensorRef, Any]]
) -> set[str]:
    """The operations that compute a mask, if it follows from masking layers; otherwise none."""
    waiting, operations = list(every_ref(mask)), set[str]()
    while waiting:
        layer = layers.get(waiting.pop().layer)
        if layer is None or "ops" not in layer.module.split("."):
            return set()
        calls = layer.calls if layer.name not in operations else []
        operations.add(layer.name)
        for call in calls:
            if layer.class_name != NOT_EQUAL:
                waiting += every_ref([call.args, call.kwargs])
            elif len(call.args) != 2 or not isinstance(call.args[1], int | float) or call.args not in sources:
                return set()
    return operations


def _remove_unused(model: ModelConfig, removable: set[str]) -> None:
    """Remove operations whose results nothing uses any more."""
    while True:
        calls = [[call.args, call.kwargs] for layer in model.layers for call in layer.calls]
        used = {ref.layer for ref in every_ref([calls, model.outputs])}
        unused = [layer for layer in model.layers if layer.name in removable - used]
        if not unused:
            return
        for layer in unused:
            model.layers.remove(layer)
