"""Fill tables from constants instead of vocabulary files of the model."""

from __future__ import annotations

from typing import Any

from tfport.errors import RunFailed
from tfport.fix.structure.tables import Changed, TableRefusal
from tfport.formats.saved_model.read import ASSETS
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Graph, Node
from tfport.graph.model import Model
from tfport.graph.state import tables
from tfport.graph.tensors import Tensor
from tfport.runtime.ops.tables.kernels.text_files import TextFileLayout, entries

FROM_FILE = {
    "InitializeTableFromTextFile": "InitializeTable",
    "InitializeTableFromTextFileV2": "InitializeTableV2",
}
MOST_BYTES = 1 << 20
LAYOUT = ("key_index", "value_index", "vocab_size", "delimiter", "offset")


def files_to_constants(model: Model) -> Changed:
    """Fill from constants every table of a main graph that is filled from a file of the model."""
    files = {table.node: table.asset for table in tables(model) if table.asset is not None}
    initializers = [node for node in model.graph if node.op in FROM_FILE]
    read = [(node, _entries(model, node, files)) for node in initializers]
    for node, (keys, values) in read:
        constants = [
            _constant(model.graph, node, *array_and_dtype).output(0) for array_and_dtype in (keys, values)
        ]
        node.become(FROM_FILE[node.op], {"Tkey": keys[1], "Tval": values[1]})
        node.set_inputs([node.inputs[0], *constants])
    return [(node.name, node.op) for node in initializers]


def _entries(model: Model, node: Node, files: dict[Node, str]) -> tuple[tuple[Any, DType], tuple[Any, DType]]:
    table = node.inputs[0].node
    name = files.get(table)
    if name is None:
        raise TableRefusal(f"`{node.name}` reads a file that is not part of the model")
    key, value = table.attrs.get("key_dtype"), table.attrs.get("value_dtype")
    if not isinstance(key, DType) or not isinstance(value, DType):
        raise TableRefusal(f"`{node.name}` fills `{table.name}`, whose dtypes are unknown")
    path = f"{ASSETS}/{name}"
    if model.files.size(path) > MOST_BYTES:
        raise TableRefusal(f"{name} is larger than {MOST_BYTES} bytes, the limit for constants")
    layout: dict[str, Any] = {attr: node.attrs[attr] for attr in LAYOUT if attr in node.attrs}
    try:
        keys, values = entries(name, bytes(model.files.map(path)), TextFileLayout(**layout), key, value)
    except RunFailed as error:
        raise TableRefusal(str(error)) from None
    return (keys, key), (values, value)


def _constant(graph: Graph, node: Node, array: Any, dtype: DType) -> Node:
    attrs: dict[str, Attr] = {"dtype": dtype, "value": Tensor.from_numpy(array, dtype)}
    return graph.add("Const", (), attrs, name=f"{node.name}/entries", device=node.device)
