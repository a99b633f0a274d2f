"""Save a model as a TensorFlow.js graph model: a GraphDef as JSON, its constants in files beside it.

The model has one signature and no variables; what its outputs do not need is left out. Tables are filled
by the initializer, a graph of its own: TensorFlow.js finds a table by the name of its node, which is in
both graphs. `formats.tfjs.write` writes the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tfport.errors import CannotRun
from tfport.formats.output import new_path
from tfport.formats.proto import graph_pb2 as pb
from tfport.formats.proto.saved_model_pb2 import SignatureDef
from tfport.formats.tfjs.write import WeightQuantization, restored, stored_array, write_tfjs
from tfport.graph.build import write_node, write_rest
from tfport.graph.dtypes import FLOAT32, STRING
from tfport.graph.graph import Node
from tfport.graph.load_tfjs import SIGNATURE
from tfport.graph.model import Model
from tfport.graph.reach import called_by, every_node, needed_by
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from numpy.typing import NDArray

NO_QUANTIZATION = WeightQuantization()
BOUNDS = {"StridedSlice": (1, 2, 3), "Slice": (1, 2)}
"""Inputs that are bounds: the largest int64 means the end, and so does the largest int32."""


def save_tfjs(
    model: Model, path: str | os.PathLike[str], quantization: WeightQuantization = NO_QUANTIZATION
) -> None:
    """Write a model whose variables are constants to a new folder."""
    signature = chosen_signature(model)
    _state_defaults(model)
    ends = [value.node for value in model.ends_of(model.signatures[signature])]
    starts = [value.node for value in model.starts_of(model.signatures[signature])]
    main, first = needed_by([*ends, *starts]), needed_by(model.init_nodes)
    document: dict[str, Any] = {
        "format": "graph-model",
        "generatedBy": model.written_by or model.meta.meta_info_def.tensorflow_version,
        "convertedBy": "tfport",
        "signature": _json(_with_present_inputs(model, signature)),
        "modelTopology": _json(_graph_def(model, main)),
    }
    if first:
        document["modelInitializer"] = _json(_graph_def(model, first))
    with new_path(path) as folder:
        write_tfjs(folder, document, _weights(model, (*main, *(first - main))), quantization)


def with_restored_weights(model: Model, quantization: WeightQuantization) -> tuple[Model, list[str]]:
    """A copy that computes with the numbers that TensorFlow.js restores, and the quantized weights."""
    work, names = model.copy(), []
    for node in [node for node in work.graph if node.op == "Const"]:
        tensor = node.attrs["value"]
        assert isinstance(tensor, Tensor)
        if tensor.dtype == FLOAT32:
            array = restored(node.name, tensor.numpy(), quantization)
            if array is not None:
                node.attrs["value"] = Tensor.from_numpy(array, FLOAT32)
                names.append(node.name)
    return work, names


def _state_defaults(model: Model) -> None:
    """Give every node all of its attributes: TensorFlow.js does not know the defaults of ops."""
    for node in every_node(model.graph):
        if node.signature is not None and node.op != "Const":
            node.attrs.update(node.signature.with_defaults(node.attrs))


def chosen_signature(model: Model) -> str:
    """The signature that is written: the only one, or `serving_default`."""
    names = list(model.signatures)
    if len(names) == 1 or SIGNATURE in names:
        return SIGNATURE if SIGNATURE in names else names[0]
    if not names:
        raise CannotRun(
            f"{model.where}: the model has no signatures; name the tensors to export with --fetch"
        )
    listed = ", ".join(names)
    raise CannotRun(f"{model.where}: a TensorFlow.js model has one signature; name it: {listed}")


def _with_present_inputs(model: Model, name: str) -> SignatureDef:
    """The signature without inputs that no output needs, and that are not in the graph any more."""
    signature = SignatureDef()
    signature.CopyFrom(model.meta.signature_def[name])
    for key, info in model.meta.signature_def[name].inputs.items():
        if not model.has_tensor(info.name):
            del signature.inputs[key]
    return signature


def _json(message: Message) -> dict[str, Any]:
    from google.protobuf.json_format import MessageToDict  # slow to import

    document: dict[str, Any] = MessageToDict(message)
    _state_zero_sizes(document)
    return document


def _state_zero_sizes(value: Any) -> None:
    """Write sizes of 0, which JSON of protobuf leaves out: TensorFlow.js reads NaN then."""
    if isinstance(value, list):
        for each in value:
            _state_zero_sizes(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key == "dim":
                value[key] = [{"size": "0", **dim} for dim in each]
            else:
                _state_zero_sizes(each)


def _graph_def(model: Model, nodes: Iterable[Node]) -> pb.GraphDef:
    """Nodes of the main graph with the functions that they call, in the order of the graph."""
    record, kept = pb.GraphDef(), set(nodes)
    for node in model.graph:
        if node in kept:
            _write(node, record.node.add())
    rest = pb.GraphDef()
    write_rest(model.graph, rest)
    called = called_by(kept)
    for function in rest.library.function:
        if function.signature.name in called:
            record.library.function.add().CopyFrom(_without_values(function))
    record.versions.producer = rest.versions.producer
    return record


def _write(node: Node, record: pb.NodeDef) -> None:
    if node.op != "Const":
        write_node(node, record)
        _strip(record)
        return
    tensor = node.attrs["value"]
    assert isinstance(tensor, Tensor)
    record.name, record.op = node.name, node.op
    record.attr["dtype"].type = tensor.dtype.number  # type: ignore[assignment]
    value = record.attr["value"].tensor
    value.dtype = tensor.dtype.number  # type: ignore[assignment]
    value.tensor_shape.CopyFrom(tensor.shape.to_proto())


def _strip(record: pb.NodeDef) -> None:
    """Remove what TensorFlow.js does not read: hints, devices and sources."""
    for name in [name for name in record.attr if name.startswith("_")]:
        del record.attr[name]
    for field in ("device", "experimental_debug_info"):
        record.ClearField(field)


def _without_values(function: pb.FunctionDef) -> pb.FunctionDef:
    """A function whose constants have unique names and no values."""
    names = {node.name for node in function.node_def if node.op == "Const"}
    for node in function.node_def:
        _strip(node)
        for index, name in enumerate(node.input):
            node.input[index] = _renamed(name, names, function)
        if node.op == "Const":
            node.name = f"{function.signature.name}/{node.name}"
            described = node.attr["value"].tensor
            value = pb.TensorProto(dtype=described.dtype, tensor_shape=described.tensor_shape)
            described.CopyFrom(value)
    for result in list(function.ret):
        function.ret[result] = _renamed(function.ret[result], names, function)
    return function


def _renamed(name: str, names: set[str], function: pb.FunctionDef) -> str:
    control, plain = name[: name.startswith("^")], name.removeprefix("^")
    base, colon, rest = plain.partition(":")
    return f"{control}{function.signature.name}/{base}{colon}{rest}" if base in names else name


def _weights(model: Model, nodes: Iterable[Node]) -> Iterator[tuple[str, NDArray[Any]]]:
    """The constants of both graphs and of the functions that they call."""
    needed = list(nodes)
    for node in needed:
        if node.op == "Const":
            yield node.name, _array(model, node)
    for name, function in called_by(needed).items():
        for node in function:
            if node.op == "Const":
                yield f"{name}/{node.name}", _array(model, node)


def _array(model: Model, node: Node) -> NDArray[Any]:
    tensor = node.attrs["value"]
    assert isinstance(tensor, Tensor)
    array = tensor.numpy()
    if tensor.dtype == STRING:
        return array
    if array.dtype.name == "int64" and _is_bound(node):
        array = array.clip(-(2**31), 2**31 - 1)
    return stored_array(array, f"{model.where}: `{node.name}`")


def _is_bound(node: Node) -> bool:
    """Whether slices alone read a constant."""
    uses = [(user, user.inputs.index(node.output(0))) for user in node.output(0).uses]
    return all(index in BOUNDS.get(user.op, ()) for user, index in uses)
