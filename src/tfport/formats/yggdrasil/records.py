"""Records of a Yggdrasil model: its columns, its trees and how their leaves are combined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

DATA_SPEC = "data_spec.pb"
LEAF, IS_MISSING, HIGHER, TRUE_VALUE, CONTAINS, CONTAINS_BITMAP, DISCRETIZED_HIGHER, OBLIQUE = range(8)
"""What a node asks: the numbers of the fields of `Condition`."""
RANDOM_FOREST, BOOSTED_TREES, ISOLATION_FOREST = (
    "RANDOM_FOREST", "GRADIENT_BOOSTED_TREES", "ISOLATION_FOREST",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ForestColumnRecord:
    """A column of the data that the model was trained on."""

    name: str
    type: str
    """`NUMERICAL`, `CATEGORICAL`, …"""
    mean: float
    most_frequent: int
    values: int
    """The number of values of a categorical column; 0 is a value out of vocabulary."""
    mostly_true: bool
    boundaries: NDArray[Any]
    """Where the bins of a discretized column start, after the first."""
    vocabulary: dict[int, bytes]


@dataclass(frozen=True, slots=True)
class ObliqueCondition:
    """Whether a weighted sum of columns is at least the threshold."""

    attributes: tuple[int, ...]
    weights: tuple[float, ...]
    threshold: float
    replacements: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ForestNodes:
    """The nodes of all trees, each tree in preorder, the negative child first."""

    condition: NDArray[Any]
    attribute: NDArray[Any]
    missing_is_true: NDArray[Any]
    threshold: NDArray[Any]
    """Of HIGHER a float32; of DISCRETIZED_HIGHER the number of the bin."""
    elements: dict[int, bytes]
    """By node, the set of values as a bitmap, least significant bit first."""
    oblique: dict[int, ObliqueCondition]
    positive: NDArray[Any]
    """The positive child of a node; the negative one is the next node."""
    roots: NDArray[Any]
    depth: NDArray[Any]
    top: NDArray[Any]
    """The winning class, or the number of training examples of an isolation forest's leaf."""
    value: NDArray[Any]
    """The value of a regression leaf."""
    distribution: NDArray[Any]
    """By node, the counts of classes or the effects of treatments; a row of zeros if there is none."""
    total: NDArray[Any]


@dataclass(frozen=True, slots=True)
class ForestModel:
    """A forest without its nodes."""

    kind: str
    task: str
    columns: tuple[ForestColumnRecord, ...]
    features: tuple[int, ...]
    label: int
    treatment: int
    outputs_probabilities: bool
    trees: int
    shards: int
    node_format: str
    winner_take_all: bool = False
    loss: str = ""
    initial: tuple[float, ...] = ()
    trees_per_iteration: int = 1
    output_logits: bool = False
    examples_per_tree: int = 0
    framework: str = ""
