"""A model: a program with its signatures and the files with its state.

`graph.state` finds the variables, tables and assets of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from tfport.errors import CannotRun, UnreadableFile
from tfport.formats.checkpoint.bundle import Bundle
from tfport.formats.checkpoint.read import Checkpoint, open_checkpoint
from tfport.formats.files import Files
from tfport.formats.format import ModelFormat
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.build import graph_from_def, graph_to_def
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.graph import Graph, Node, Value, tensor_parts
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.graph.tensors import Tensor
from tfport.rendering import notebook_html
from tfport.startup.dataclass import dataclass, field, replace

if TYPE_CHECKING:
    from tfport.formats.keras.records import KerasFile
    from tfport.formats.lite.records import LiteFile
    from tfport.formats.tfjs.weights import TfjsWeights

INIT_SIGNATURE = "__saved_model_init_op"
TRAIN_SIGNATURE = "__saved_model_train_op"
MAIN_OP = "saved_model_main_op"
_INIT_COLLECTIONS = (MAIN_OP, "legacy_init_op")


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input or output of a signature: one tensor, or the parts of a sparse or ragged one."""

    tensors: tuple[str, ...]
    """The names of its tensors in the graph, `x:0`."""
    dtype: DType
    shape: Shape
    form: str = "dense"
    """`dense`, `sparse`, or the name of the composite type."""

    def __str__(self) -> str:
        form = "" if self.form == "dense" else f", {self.form}"
        return f"{self.dtype} {self.shape}{form}"


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature: the named inputs and outputs of a call of the model."""

    name: str
    method: str
    inputs: dict[str, TensorSpec]
    outputs: dict[str, TensorSpec]
    defaults: dict[str, Tensor] = field(default_factory=dict)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {spec}" for name, spec in self.inputs.items())
        outputs = ", ".join(f"{name}: {spec}" for name, spec in self.outputs.items())
        return f"<Signature {self.name}({inputs}) -> {outputs or None}>"


@dataclass(frozen=True, slots=True)
class NameOrder:
    """The inputs and outputs of a signature in the order of the model, for formats that have one."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


BY_NAME = NameOrder((), ())


@dataclass
class Model:
    """A model that was read; its `graph` may be changed and the model saved again."""

    where: str
    format: ModelFormat
    files: Files
    graph: Graph
    meta: pb.MetaGraphDef
    """The rest of the MetaGraph: signatures, saver, collections, object graph."""
    tag_sets: list[tuple[str, ...]] = field(default_factory=list)
    asked_tags: bool = False
    """Whether the caller chose the MetaGraph by its tags."""
    fingerprint: pb.FingerprintDef | None = None
    checkpoint_prefix: str | None = None
    """The prefix of the checkpoint with the variables; None for a format without one."""
    weights: TfjsWeights | None = None
    """The values of constants that TensorFlow.js stores beside the graph."""
    written_by: str = ""
    """The program that wrote the file, if it is not TensorFlow."""
    keras: KerasFile | None = None
    """The Keras file that the graph was built from."""
    lite: LiteFile | None = None
    """The TensorFlow Lite file that the graph was built from."""
    unchanged_file: Callable[[Graph], memoryview | None] | None = None
    """The content of a TensorFlow Lite file, if a graph is still as it was built from it."""
    name_orders: dict[str, NameOrder] = field(default_factory=dict)
    """By signature; names that are not listed come last, by the alphabet."""
    no_graph: str = ""
    """Why the graph of a Keras or TensorFlow Lite model could not be built; empty for every other model."""

    def __repr__(self) -> str:
        names = ", ".join(self.signatures) or "no signature"
        return f"<Model {self.where}: {self.format.name}, {names}>"

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def require_graph(self) -> None:
        """Raise an error if there is no graph to run, fix or export."""
        if self.no_graph:
            raise CannotRun(self.no_graph)

    def copy(self) -> Model:
        """A model with a graph and a MetaGraph of its own; weights are read from the same files."""
        meta = pb.MetaGraphDef()
        meta.CopyFrom(self.meta)
        graph = graph_from_def(graph_to_def(self.graph), self.graph.ops)
        tag_sets = [self.tags] if self.tag_sets else []
        return replace(self, graph=graph, meta=meta, tag_sets=tag_sets, asked_tags=False, fingerprint=None)

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(sorted(self.meta.meta_info_def.tags))

    @cached_property
    def signatures(self) -> dict[str, Signature]:
        """The signatures by name, without those that only loaders call."""
        hidden = (INIT_SIGNATURE, TRAIN_SIGNATURE)
        return {
            name: _signature(name, proto, self.name_orders.get(name, BY_NAME))
            for name, proto in sorted(self.meta.signature_def.items())
            if name not in hidden
        }

    @cached_property
    def checkpoint(self) -> Checkpoint | None:
        """The checkpoint with the variables; None if it is missing."""
        prefix = self.checkpoint_prefix
        if prefix is None or not any(checkpoint_files(self.files, prefix)):
            return None
        return open_checkpoint(self.files, prefix)

    def ends_of(self, signature: Signature) -> list[Value]:
        """The output values of a signature that exist in the graph."""
        return [v for spec in signature.outputs.values() for name in spec.tensors if (v := self._value(name))]

    def starts_of(self, signature: Signature) -> list[Value]:
        """The input values of a signature that exist in the graph."""
        return [v for spec in signature.inputs.values() for name in spec.tensors if (v := self._value(name))]

    @property
    def init_nodes(self) -> list[Node]:
        """The nodes that run once at load, to initialize tables and TF1 variables."""
        return self.init_nodes_for()

    def init_nodes_for(self, *, by_signature: bool = True) -> list[Node]:
        """The same for a loader that may ignore the signature for it, which TensorFlow 1.13 added."""
        return self._nodes(self._init_names(by_signature))

    def missing_init_ops(self) -> list[str]:
        """The names of initialization ops that are not in the graph."""
        return [name for name in self._init_names() if self.graph.find(name.partition(":")[0]) is None]

    def _init_names(self, by_signature: bool = True) -> list[str]:
        # a loader uses the first of these sources that exists (GetInitOp)
        if by_signature and INIT_SIGNATURE in self.meta.signature_def:
            return [info.name for info in self.meta.signature_def[INIT_SIGNATURE].outputs.values()]
        for collection in _INIT_COLLECTIONS:
            if collection in self.meta.collection_def:
                return list(self.meta.collection_def[collection].node_list.value)
        return []

    @property
    def restore_nodes(self) -> list[Node]:
        """The nodes that read the checkpoint at load."""
        return self._nodes([self.meta.saver_def.restore_op_name])

    @property
    def save_nodes(self) -> list[Node]:
        """The nodes that write a checkpoint."""
        return self._nodes([self.meta.saver_def.save_tensor_name])

    def has_tensor(self, name: str) -> bool:
        return self._value(name) is not None

    def _nodes(self, names: Iterable[str]) -> list[Node]:
        return [node for name in names if (node := self.graph.find(name.partition(":")[0]))]

    def _value(self, name: str) -> Value | None:
        node, index = tensor_parts(name)
        owner = self.graph.find(node)
        if owner is None or index is None or not owner.may_have(index):
            return None
        return owner.output(index)


def checkpoint_files(files: Files, prefix: str) -> Iterator[tuple[str, str]]:
    """The existing files of a checkpoint, and the suffix of each after the prefix."""
    folder, slash, base = prefix.rpartition("/")
    try:
        names = files.list(folder)[0]
    except UnreadableFile:  # the folder does not exist
        return
    for name in names:
        end = name.removeprefix(base)
        if name.startswith(base) and (not end or end.startswith((".index", ".data-", "-0"))):
            yield f"{folder}{slash}{name}", end


def missing_checkpoint_files(model: Model, *, needed: bool) -> list[str]:
    """A sentence for each missing shard, or for the index of a `needed` checkpoint without files."""
    prefix = model.checkpoint_prefix
    if prefix is None:
        return []
    ends = {end for _, end in checkpoint_files(model.files, prefix)}
    lost = [".index"] if needed and not ends else []
    if isinstance(model.checkpoint, Bundle):
        lost = [shard.removeprefix(prefix) for shard in model.checkpoint.shard_ends()]
    return [
        f"{model.files.label(prefix)}{end}: missing; it contains variables" for end in lost if end not in ends
    ]


def _signature(name: str, proto: pb.SignatureDef, order: NameOrder) -> Signature:
    return Signature(
        name,
        proto.method_name,
        {k: tensor_spec(proto.inputs[k]) for k in _in_order(proto.inputs, order.inputs)},
        {k: tensor_spec(proto.outputs[k]) for k in _in_order(proto.outputs, order.outputs)},
        {k: Tensor.from_proto(v) for k, v in sorted(proto.defaults.items())},
    )


def _in_order(names: Iterable[str], order: tuple[str, ...]) -> list[str]:
    known = {name: index for index, name in enumerate(order)}
    return sorted(names, key=lambda name: (known.get(name, len(known)), name))


def tensor_spec(info: pb.TensorInfo) -> TensorSpec:
    """Convert a TensorInfo."""
    form = info.WhichOneof("encoding")
    shape = Shape.from_proto(info.tensor_shape) if info.HasField("tensor_shape") else UNKNOWN
    dtype = DType.of(info.dtype)
    if form == "coo_sparse":
        sparse = info.coo_sparse
        parts = (sparse.values_tensor_name, sparse.indices_tensor_name, sparse.dense_shape_tensor_name)
        return TensorSpec(parts, dtype, shape, "sparse")
    if form == "composite_tensor":
        spec = info.composite_tensor.type_spec
        dtype, shape = _described(spec.type_state, dtype, shape)
        return TensorSpec(tuple(_names(info)), dtype, shape, _composite(spec))
    return TensorSpec((info.name,), dtype, shape)


def _names(info: pb.TensorInfo) -> Iterator[str]:
    if info.WhichOneof("encoding") == "composite_tensor":
        for part in info.composite_tensor.components:
            yield from _names(part)
    else:
        yield from tensor_spec(info).tensors


def _described(state: pb.StructuredValue, dtype: DType, shape: Shape) -> tuple[DType, Shape]:
    """The dtype and shape of a composite tensor: its TensorInfo lacks them, its type states them first."""
    for value in state.tuple_value.values:
        kind = value.WhichOneof("kind")
        if dtype == INVALID and kind == "tensor_dtype_value":
            dtype = DType.of(value.tensor_dtype_value)
        elif shape == UNKNOWN and kind == "tensor_shape_value":
            shape = Shape.from_proto(value.tensor_shape_value)
    return dtype, shape


def _composite(spec: pb.TypeSpecProto) -> str:
    """`ragged`, `indexed_slices`, or the class name of a type that is not part of TensorFlow."""
    known = {number: name for name, number in pb.TypeSpecProto.TypeSpecClass.items()}
    name = known.get(spec.type_spec_class, "")
    if name in ("", "UNKNOWN", "REGISTERED_TYPE_SPEC", "EXTENSION_TYPE_SPEC"):
        return spec.type_spec_class_name.removesuffix("Spec") or f"type {spec.type_spec_class}"
    return name.removesuffix("_SPEC").removesuffix("_TENSOR").lower()
