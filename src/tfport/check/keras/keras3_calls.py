"""How Keras 3 reads the calls of layers in configurations of Keras 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tfport.check.findings.keras_files import KerasConfigForm, KerasEndlessLoad
from tfport.check.keras.keras3_objects import Keras3Objects
from tfport.check.keras.raised import TYPE_ERROR, VALUE_ERROR, Raised
from tfport.formats.keras.records import Json

GIVEN = 3
"""How many parts name a tensor: layer, call and output."""
MODELS = ("Functional", "Model", "Sequential")


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
        for history in _histories(layer.get("inbound_nodes")):
            inner, number, *rest = history
            if isinstance(inner, str) and isinstance(number, int) and number >= calls.get(inner, number + 1):
                problems.append(_endless(objects, name, inner))
            kwargs = rest[1] if len(rest) > 1 else None
            if (
                objects.since("3.10")
                and isinstance(kwargs, Mapping)
                and any(map(_is_reference, kwargs.values()))
            ):
                problems.append(_by_keyword(name))
    return problems


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
