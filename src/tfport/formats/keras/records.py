"""What a Keras file says, whatever its layout: configuration, versions and stored weights.

The configuration is the JSON of the file, unchanged; `frontends.keras.config` gives it one meaning for all
releases of Keras. Weights are read on request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.formats.tfjs.weights import TfjsWeights

Json = Any
"""A value of JSON: a dict, list, string, number, boolean or None."""

BY_LAYER, BY_PATH, BY_OBJECT = "by layer", "by path", "by object"
"""How weights are stored: in lists by the name of a layer, by the path of an object, or as the attributes of
Python objects in a TensorFlow checkpoint."""


@dataclass(frozen=True, slots=True)
class StoredWeight:
    """One array of a file; `read` returns its elements."""

    name: str
    """As the file has it: `dense_1/kernel:0`, or `layers/dense_1/vars/0`."""
    dtype: str
    """The name of the NumPy type, such as `float32`."""
    shape: tuple[int, ...]
    read: Callable[[], NDArray[Any]]


@dataclass(slots=True)
class TrackedObject:
    """An object with state in a TensorFlow checkpoint: a model, a layer, a list, a variable or a table."""

    name: str = ""
    """The name of a layer, which SavedModels state and plain checkpoints do not."""
    number: int | None = None
    """The number of the object in the SavedModel."""
    weight: StoredWeight | None = None
    """The value of a variable."""
    table: tuple[StoredWeight, StoredWeight] | None = None
    """The keys and the values of a lookup table."""
    children: dict[str, TrackedObject] = field(default_factory=dict)
    """The objects that its attributes refer to; objects may refer to each other in a cycle."""


@dataclass(slots=True)
class StoredWeights:
    """The weights of a file."""

    layout: str
    """`BY_LAYER`, `BY_PATH` or `BY_OBJECT`."""
    lists: Mapping[str, list[StoredWeight]]
    """The arrays in the order of the file.

    By layer: by the name of a layer of the outermost model; the list has the weights of all layers
    inside it, and `top_level_model_weights` those of the model itself. By path: by the path of the object
    that owns them, such as `layers/dense_1` or `layers/lstm/cell`, with the arrays of its `vars` in
    numeric order.
    """
    stores: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """By path only: what newer releases store with an object, such as its `name`."""
    has_top_group: bool = True
    """By path only: whether the file has a group for the weights of the model itself, even an empty one."""
    root: TrackedObject | None = None
    """By object only: the model, whose layers are its attributes `layer-0` and so on."""
    tfjs: TfjsWeights | None = None
    """The files of the weights, if TensorFlow.js stored them."""


@dataclass(frozen=True, slots=True)
class UnsafeContent:
    """Content that would be executed, or would read other files, if Keras loaded the file."""

    kind: str
    """`lambda`, `pickle`, `module`, `function`, `path`, `link`, `size` or `name`."""
    where: str
    """The layer, member or object."""
    detail: str
    """What it is, in a sentence part: `a marshalled Python function`."""
    code: str = ""
    """The marshalled function as it is stored."""


@dataclass(slots=True)
class KerasFile:
    """A Keras model, architecture or weights file that was read."""

    where: str
    layout: str
    """`h5`, `keras`, `json`, `weights`, `tfjs` or `saved_model`."""
    config: Mapping[str, Json] | None
    """The stored model: `{"class_name": …, "config": …}`; None for a file with weights only."""
    weights: StoredWeights | None
    """None for an architecture without weights."""
    keras_version: str = ""
    """The version that saved it, as stored: `2.2.4-tf`; empty if the file does not say."""
    backend: str = ""
    training: Mapping[str, Json] | None = None
    """Optimizer, loss and metrics as stored; None if the model was saved without."""
    saved_at: str = ""
    generated_by: str = ""
    """The program that wrote or converted it, if it is not Keras."""
    assets: Mapping[str, bytes] = field(default_factory=dict)
    """Small files inside the archive, such as vocabularies, by path."""
    unsafe: list[UnsafeContent] = field(default_factory=list)
    weights_from: str = ""
    """Where the weights are, if they were saved apart from the architecture."""
    notes: list[str] = field(default_factory=list)
    """Which file the weights were taken from, or why none was; one sentence each."""
