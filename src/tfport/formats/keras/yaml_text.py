"""A Keras architecture in YAML, as `model.to_yaml()` wrote it before TensorFlow 2.6.

YAML can name Python objects to create. Only lists, mappings and plain values are read here; tuples, which
Keras writes, are lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfport.errors import NotAModel, UnreadableFile
from tfport.extras import optional_module
from tfport.formats.encoding.json_text import check_depth
from tfport.formats.keras.records import Json

MOST_YAML = 16 * 2**20
MOST_VALUES = 4_000_000
"""The most values of an architecture: parts of the text can be named, repeated and contain each other."""
PLAIN_TAGS = ("tuple", "unicode", "str")


def yaml_object(text: memoryview | bytes, where: str) -> Mapping[str, Json]:
    """The mapping in a YAML text; nothing that it names is created."""
    yaml: Any = optional_module("yaml", "reading YAML")
    if len(text) > MOST_YAML:
        raise UnreadableFile(f"{where}: expected at most {MOST_YAML} bytes of YAML, found {len(text)}")
    try:
        value = yaml.load(bytes(text), _loader(yaml))  # a safe loader, see `_loader`
        if not isinstance(value, dict):
            raise NotAModel(f"{where}: expected a YAML mapping, found a {type(value).__name__}")
        _check_size(value, where)
        check_depth(value, where)
    except yaml.YAMLError as error:
        raise UnreadableFile(f"{where}: {' '.join(str(error).split())}") from None
    except (RecursionError, ValueError) as error:
        raise UnreadableFile(f"{where}: the YAML is nested too deeply, or a value is damaged") from error
    return value


def _loader(yaml: Any) -> Any:
    """A loader of plain values; PyYAML's safe one, which knows the names of Python's plain types too."""

    class PlainLoader(yaml.SafeLoader):  # type: ignore[misc]
        pass

    def plain(loader: Any, node: Any) -> Any:
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return loader.construct_scalar(node)

    for tag in PLAIN_TAGS:
        PlainLoader.add_constructor(f"tag:yaml.org,2002:python/{tag}", plain)
    return PlainLoader


def _check_size(value: Json, where: str) -> None:
    """Raise an error if walking the value would never end, as parts repeat inside each other."""
    sizes: dict[int, int] = {}

    def size(inner: Json) -> int:
        if not isinstance(inner, dict | list):
            return 1
        if id(inner) not in sizes:
            sizes[id(inner)] = MOST_VALUES + 1  # if it contains itself
            sizes[id(inner)] = 1 + sum(map(size, inner.values() if isinstance(inner, dict) else inner))
        return sizes[id(inner)]

    if size(value) > MOST_VALUES:
        raise UnreadableFile(
            f"{where}: its parts repeat inside each other, to more than {MOST_VALUES} values"
        )
