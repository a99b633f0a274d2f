"""How Keras 3 reads the calls of layers: those of Keras 1 and 2, and what its first releases mistake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tfport.atlas.keras_releases import KerasRelease
from tfport.check.findings.finding import RUN
from tfport.check.findings.keras_files import KerasConfigForm, KerasEndlessLoad, KerasWeightsMismatch
from tfport.check.keras.generation import since_keras_3
from tfport.check.keras.keras3_objects import Keras3Objects
from tfport.check.keras.raised import TYPE_ERROR, VALUE_ERROR, Raised
from tfport.formats.keras.records import Json

GIVEN = 3
"""How many parts name a tensor: layer, call and output."""
MODELS = ("Functional", "Model", "Sequential")
MULTI_HEAD, VALUE = "MultiHeadAttention", "value"
ATTENTION = ("AdditiveAttention", "Attention", "MultiHeadAttention")
RECURRENT = ("GRU", "LSTM", "SimpleRNN")
LISTED_KEYS_SINCE, BINS_STATED_SINCE = "3.2", "3.14"
"""The first releases that load `x[:, 1]`, and that state the shape of encoded bins."""
BINS = "Discretization"
PASSING = ("Concatenate", "Dropout", "Flatten", "Activation", "Add", "Multiply", "Rescaling")
"""Layers whose results have sizes of their inputs."""
SIZED = ("Dense", "BatchNormalization", "LayerNormalization")
"""Layers with weights of the size of their inputs."""
LEFT_AS_LISTS = "3.10"
"""The first release that leaves tensors by keyword as lists of names and numbers."""


def call_problems(objects: Keras3Objects, stored: Json) -> list[Raised]:
    """The errors that calls of the layers of a functional model raise, before any layer computes."""
    if not isinstance(stored, list):
        return []
    calls = {
        str(layer.get("name")): _count(layer.get("inbound_nodes"))
        for layer in stored
        if isinstance(layer, Mapping) and layer.get("class_name") in MODELS
    }
    problems: list[Raised] = []
    for layer in stored:
        if not isinstance(layer, Mapping):
            continue
        name = str(layer.get("name"))
        problems += _numbers(objects, layer, name)
        problems += _states(layer, name)
        problems += _listed_keys(objects, layer, name)
        for history in _histories(layer.get("inbound_nodes")):
            inner, number, *rest = history
            if isinstance(inner, str) and isinstance(number, int) and number >= calls.get(inner, number + 1):
                problems.append(_endless(objects, name, inner))
            if layer.get("class_name") == MULTI_HEAD and VALUE in _tensors_by_keyword(rest):
                problems.append(_without_value(name))
            elif objects.since(LEFT_AS_LISTS) and any(
                not _fails_later(layer, key) for key in _tensors_by_keyword(rest)
            ):
                problems.append(_by_keyword(name))
    if not objects.since(BINS_STATED_SINCE):
        problems += _misstated_bins(stored)
    return problems


def failing_calls(config: Json, release: KerasRelease) -> Iterator[KerasConfigForm]:
    """The layers of a functional model that load with a mask by keyword, and fail when they are called."""
    inner = config.get("config") if isinstance(config, Mapping) else None
    stored = inner.get("layers") if isinstance(inner, Mapping) else None
    for layer in stored if isinstance(stored, list) and since_keras_3(release, LEFT_AS_LISTS) else ():
        nodes = layer.get("inbound_nodes") if isinstance(layer, Mapping) else None
        if any(_fails_later(layer, key) for _, _, *r in _histories(nodes) for key in _tensors_by_keyword(r)):
            what = "a call that passes a mask by keyword: the layer loads, and each call of it fails"
            yield KerasConfigForm(layer=str(layer.get("name")), what=what, stage=RUN)


def _tensors_by_keyword(rest: list[Json]) -> list[str]:
    """The keywords of a call that name tensors."""
    kwargs = rest[1] if len(rest) > 1 else None
    return (
        [key for key, value in kwargs.items() if _is_reference(value)] if isinstance(kwargs, Mapping) else []
    )


def _fails_later(layer: Mapping[str, Json], keyword: str) -> bool:
    """Whether a tensor by keyword matters only when the layer computes, not when it is created."""
    return keyword == "mask" and layer.get("class_name") not in ATTENTION


def _numbers(objects: Keras3Objects, layer: Mapping[str, Json], name: str) -> Iterator[Raised]:
    """The errors for plain values by position: a layer takes tensors there, an operation any value.

    The loader of HDF5 files reads an operation as the layer of the same name.
    """
    if "module" in layer or objects.release.find("layer", str(layer.get("class_name"))) is None:
        return
    nodes = layer.get("inbound_nodes")
    for node in nodes if isinstance(nodes, list) else ():
        values = node.get("args") if isinstance(node, Mapping) else None
        plain = [v for v in values or () if isinstance(v, int | float | str)]
        if plain:
            text = (
                "Only input tensors may be passed as positional arguments. The following argument value "
                f"should be passed as a keyword argument: {plain[0]} (of type {type(plain[0])})"
            )
            what = f"a call with the value {plain[0]} by position, which only an operation takes"
            yield Raised(VALUE_ERROR, text, KerasConfigForm(layer=name, what=what))


def _states(layer: Mapping[str, Json], name: str) -> Iterator[Raised]:
    """The errors for recurrent layers that get their states beside the sequence, as Keras 2 stored them."""
    nodes = layer.get("inbound_nodes")
    for node in nodes if isinstance(nodes, list) and layer.get("class_name") in RECURRENT else ():
        if isinstance(node, list) and len(node) > 1:
            received = f"it received {len(node)} input tensors. Inputs received: …"
            text = f'Layer "{name}" expects 1 input(s), but {received}'
            what = "a recurrent layer whose states are further inputs"
            yield Raised(VALUE_ERROR, text, KerasConfigForm(layer=name, what=what))


def _listed_keys(objects: Keras3Objects, layer: Mapping[str, Json], name: str) -> Iterator[Raised]:
    """The errors of 3.0 and 3.1 for an index with several parts, which a file has as a list."""
    if layer.get("class_name") != "GetItem" or objects.since(LISTED_KEYS_SINCE):
        return
    nodes = layer.get("inbound_nodes")
    for node in nodes if isinstance(nodes, list) else ():
        values = node.get("args") if isinstance(node, Mapping) else None
        if isinstance(values, list) and len(values) > 1 and isinstance(values[1], list):
            what = "an index with several parts, which it saves and does not load"
            yield Raised(VALUE_ERROR, "", KerasConfigForm(layer=name, class_name="GetItem", what=what))


def _misstated_bins(stored: list[Json]) -> Iterator[Raised]:
    """The errors for layers after encoded bins, whose stated shape is that of the numbers before.

    Weights that have the size of this shape do not fit those of the file.
    """
    layers = [layer for layer in stored if isinstance(layer, Mapping)]
    sources = {str(layer.get("name")): _sources(layer.get("inbound_nodes")) for layer in layers}
    misstated = {str(layer.get("name")) for layer in layers if _encodes_bins(layer)}
    if not misstated:
        return
    by_name = {str(layer.get("name")): layer for layer in layers}
    waiting = True
    while waiting:
        passed = {
            name
            for name, used in sources.items()
            if used & misstated and by_name[name].get("class_name") in PASSING
        }
        waiting = not passed <= misstated
        misstated |= passed
    for name, layer in by_name.items():
        if layer.get("class_name") in SIZED and sources[name] & misstated:
            what = "it states a wrong shape for encoded bins, and expects weights of that size"
            class_name = str(layer.get("class_name"))
            finding = KerasWeightsMismatch(layer=name, class_name=class_name, what=what)
            yield Raised(VALUE_ERROR, "", finding)


def _encodes_bins(layer: Mapping[str, Json]) -> bool:
    config = layer.get("config")
    if layer.get("class_name") != BINS or not isinstance(config, Mapping):
        return False
    return str(config.get("output_mode", "int")) != "int"


def _sources(nodes: Json) -> set[str]:
    """The layers whose results the calls of a layer use, in the form of Keras 3."""
    if isinstance(nodes, Mapping):
        history = nodes.get("keras_history")
        own = {str(history[0])} if isinstance(history, list) and history else set()
        return own.union(*map(_sources, nodes.values()))
    return set[str]().union(*map(_sources, nodes)) if isinstance(nodes, list) else set()


def end_problems(objects: Keras3Objects, tensors: Json) -> list[Raised]:
    """The errors for the inputs or outputs of a model: before 3.4 they are always a list of tensors."""
    is_one = isinstance(tensors, list) and bool(tensors) and isinstance(tensors[0], str)
    if objects.since("3.4") or not is_one:
        return []
    what = "one input or output that is not in a list"
    if len(tensors[0]) == GIVEN:  # its three letters are read as a layer and two numbers
        return [Raised("AssertionError", "", KerasConfigForm(what=what))]
    text = (
        f"functional_from_config.<locals>.get_tensor() takes {GIVEN} positional arguments but "
        f"{len(tensors[0])} were given"
    )
    return [Raised(TYPE_ERROR, text, KerasConfigForm(what=what))]


def _count(nodes: Json) -> int:
    return len(nodes) if isinstance(nodes, list) else 0


def _histories(nodes: Json) -> Iterator[list[Json]]:
    """The entries `[layer, call, output, keyword arguments]` of the calls of a layer."""
    for node in nodes if isinstance(nodes, list) else ():
        for entry in node if isinstance(node, list) else ():
            if isinstance(entry, list) and 3 <= len(entry) <= 4:
                yield entry


def _is_reference(value: Json) -> bool:
    """Whether a value names tensors: `[layer, call, output]`, or a list of such."""
    if not isinstance(value, list) or not value:
        return False
    is_tensor = len(value) == 3 and isinstance(value[0], str) and all(isinstance(n, int) for n in value[1:])
    return is_tensor or any(_is_reference(inner) for inner in value if inner is not value)


def _endless(objects: Keras3Objects, layer: str, inner: str) -> Raised:
    if objects.since("3.14.1") or (objects.since("3.12.2") and not objects.since("3.13")):
        text = (
            "Invalid Functional model configuration. The graph of the Functional model either has loops or "
            "disconnected nodes. The following nodes failed to be resolved: …"
        )
        what = f"calls of the inner model `{inner}` are counted from 1"
        return Raised(VALUE_ERROR, text, KerasConfigForm(layer=layer, what=what))
    return Raised("", "", KerasEndlessLoad(layer=layer))


def _by_keyword(layer: str) -> Raised:
    """A tensor that is stored as a keyword stays a list; what the layer says depends on the backend."""
    what = "a call that passes tensors by keyword"
    return Raised(TYPE_ERROR, "", KerasConfigForm(layer=layer, what=what))


def _without_value(layer: str) -> Raised:
    """Multi-head attention is built from the shapes of tensors, and a name is none."""
    text = "MultiHeadAttention.build() missing 1 required positional argument: 'value_shape'"
    what = "a call that passes `value` by keyword"
    finding = KerasConfigForm(layer=layer, class_name=MULTI_HEAD, op=MULTI_HEAD, attr=VALUE, what=what)
    return Raised(TYPE_ERROR, text, finding)
