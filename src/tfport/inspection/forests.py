"""The decision forests in a model's assets: what kind they are, their trees and their features."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.errors import UnreadableFile
from tfport.formats.saved_model.read import ASSETS
from tfport.formats.yggdrasil.read import read_forest, read_nodes
from tfport.formats.yggdrasil.records import LEAF
from tfport.graph.model import Model
from tfport.graph.state import forest_prefixes
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ForestSummary:
    """A forest: `RANDOM_FOREST` for `CLASSIFICATION`, with so many trees."""

    prefix: str
    """What the names of its files start with."""
    kind: str
    task: str
    label: str
    trees: int
    nodes: int
    leaves: int
    depth: int
    node_format: str
    features: dict[str, str]
    """The type of each feature, by its name."""


def inspect_forests(model: Model, problems: list[str]) -> Iterator[ForestSummary]:
    """The forests of a model; what cannot be read is appended to `problems`."""
    for prefix in forest_prefixes(model):
        try:
            yield _summary(model, prefix)
        except UnreadableFile as error:
            problems.append(str(error))


def _summary(model: Model, prefix: str) -> ForestSummary:
    forest = read_forest(model.files, ASSETS, prefix)
    nodes = read_nodes(model.files, ASSETS, prefix, forest)
    return ForestSummary(
        prefix=prefix,
        kind=forest.kind,
        task=forest.task,
        label=forest.columns[forest.label].name if forest.columns and forest.label >= 0 else "",
        trees=forest.trees,
        nodes=len(nodes.condition),
        leaves=int((nodes.condition == LEAF).sum()),
        depth=int(nodes.depth.max(initial=0)),
        node_format=forest.node_format,
        features={forest.columns[index].name: forest.columns[index].type for index in forest.features},
    )
