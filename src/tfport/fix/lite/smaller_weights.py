"""Store the weights of a TensorFlow Lite file in fewer bits: as float16, or as int8 with scales.

float16 weights are made float32 again by DEQUANTIZE, as the converter writes them; int8 weights are used as
they are by operators that quantize their input in each run (dynamic range), with a scale for each result
channel where the operator has that. Other constants stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.journal import Journal
from tfport.fix.rule import LOSSY
from tfport.formats.lite.records import LiteFile, LiteOperator, OperatorCode, Subgraph, TensorQuantization
from tfport.formats.lite.schema import lite_schema
from tfport.frontends.lite.constants import constant_array, has_data
from tfport.startup.dataclass import replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST = 1024
"""Smaller weights stay as they are."""
WEIGHTS = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 0}
"""The operators with int8 weights for floats, and the axis of the results in their weights."""
LARGEST = 127


def smaller_weights(file: LiteFile, dtype: str, journal: Journal) -> None:
    """Change the weights of a file in place."""
    change = _as_float16 if dtype == "float16" else _as_int8
    changed = [entry for graph in file.subgraphs for entry in change(file, graph)]
    says = f"Weights are stored as {dtype}."
    journal.changed(f"{dtype} weights", says, changed, LOSSY)


def _is_large(file: LiteFile, graph: Subgraph, index: int) -> bool:
    tensor = graph.tensors[index]
    return tensor.type == "FLOAT32" and has_data(file, tensor) and int(np.prod(tensor.shape)) >= LEAST


def _store(file: LiteFile, array: NDArray[Any]) -> int:
    file.buffers.append(np.ascontiguousarray(array).reshape(-1).data.cast("B"))
    return len(file.buffers) - 1


def _drop_unused(file: LiteFile) -> None:
    used = {tensor.buffer for graph in file.subgraphs for tensor in graph.tensors}
    used |= {buffer for _, buffer in file.metadata}
    file.buffers[:] = [data if index in used else b"" for index, data in enumerate(file.buffers)]


def _as_float16(file: LiteFile, graph: Subgraph) -> list[tuple[str, str]]:
    changed, first = [], []
    number = lite_schema().enums["BuiltinOperator"].numbers["DEQUANTIZE"]
    read = {index for node in graph.operators for index in node.inputs}
    for index in range(len(graph.tensors)):
        if index not in read or not _is_large(file, graph, index):
            continue
        tensor = graph.tensors[index]
        with np.errstate(over="ignore"):
            half = constant_array(file, tensor).astype(np.float16)
        if not np.isfinite(half).all():
            continue
        graph.tensors.append(replace(tensor, type="FLOAT16", buffer=_store(file, half)))
        graph.tensors[index] = replace(tensor, buffer=0)
        code = OperatorCode("DEQUANTIZE", number)
        first.append(LiteOperator(code, (len(graph.tensors) - 1,), (index,)))
        changed.append((tensor.name, "float32"))
    graph.operators[:0] = first
    _drop_unused(file)
    return changed


def _as_int8(file: LiteFile, graph: Subgraph) -> list[tuple[str, str]]:
    changed: list[tuple[str, str]] = []
    readers: dict[int, list[LiteOperator]] = {}
    for node in graph.operators:
        for index in node.inputs:
            readers.setdefault(index, []).append(node)
    for index, nodes in readers.items():
        is_weight = all(node.code.op in WEIGHTS and node.inputs[1] == index for node in nodes)
        if index < 0 or not is_weight or not _is_large(file, graph, index):
            continue
        ops = {node.code.op for node in nodes}
        if len(ops) > 1:
            continue
        tensor, op = graph.tensors[index], ops.pop()
        array = constant_array(file, tensor)
        axis = WEIGHTS[op]
        others = tuple(other for other in range(array.ndim) if other != axis)
        scale = np.abs(array).max(others if op != "FULLY_CONNECTED" else None, keepdims=True) / LARGEST
        scale = np.maximum(scale, np.finfo(np.float32).tiny).astype(np.float32)
        rounded = np.clip(np.round(array / scale), -LARGEST, LARGEST).astype(np.int8)
        flat = scale.reshape(-1)
        stored = TensorQuantization(tuple(map(float, flat)), (0,) * len(flat), axis if len(flat) > 1 else 0)
        graph.tensors[index] = replace(tensor, type="INT8", buffer=_store(file, rounded), quantization=stored)
        for node in nodes:
            if op == "FULLY_CONNECTED":
                node.options["asymmetric_quantize_inputs"] = True
        changed.append((tensor.name, "float32"))
    _drop_unused(file)
    return changed
