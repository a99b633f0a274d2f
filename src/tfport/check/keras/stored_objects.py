"""Which arguments of a layer hold objects with names: initializers, activations, and so on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tfport.formats.keras.records import Json

ACTIVATIONS = ("activation", "recurrent_activation", "inner_activation")
KINDS_BY_ENDING = {
    "initializer": "initializer",
    "regularizer": "regularizer",
    "constraint": "constraint",
}
ORDER = ("activation", "initializer", "regularizer", "constraint")
"""The order in which constructors look them up."""
DEEPEST = 50


def stored_objects(config: Mapping[str, Json]) -> Iterator[tuple[str, str, Json]]:
    """The argument, kind and value of each object that a constructor looks up, in its order."""
    objects = [(argument, kind, value) for argument, value in config.items() if (kind := kind_of(argument))]
    yield from sorted(objects, key=lambda entry: ORDER.index(entry[1]))


def kind_of(argument: str) -> str | None:
    """The kind of object that an argument takes; None for a plain value."""
    if argument in ACTIVATIONS:
        return "activation"
    return KINDS_BY_ENDING.get(argument.rpartition("_")[2])


def decoded(value: Json, depth: int = 0) -> Json:
    """A copy as the HDF5 loaders decode it: tuples and shapes are stored as objects."""
    if depth > DEEPEST:
        return value
    if isinstance(value, list | tuple):
        return [decoded(inner, depth + 1) for inner in value]
    if not isinstance(value, Mapping):
        return value
    if value.get("class_name") in ("__tuple__", "TensorShape") and isinstance(value.get("items"), list):
        return tuple(decoded(inner, depth + 1) for inner in value["items"])
    return {key: decoded(inner, depth + 1) for key, inner in value.items()}


def copied(value: Json, depth: int = 0) -> Json:
    """A copy of a configuration, which a simulated loader changes as the real one does."""
    if depth > DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {key: copied(inner, depth + 1) for key, inner in value.items()}
    return [copied(inner, depth + 1) for inner in value] if isinstance(value, list) else value
