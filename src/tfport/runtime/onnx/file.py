"""Write an ONNX model as a file, checked by ONNX Runtime, and by ONNX's own checker if it is installed.

Above 2 GB, the limit of a protobuf message, or if asked to, the weights go into a file beside it.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path

import numpy as np

from tfport.errors import Error
from tfport.formats.output import new_path
from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.onnx.model import OnnxModel
from tfport.runtime.onnx.opset import OLDEST

MAX_INLINE_BYTES = 2**31 - 2**24
DATA = ".data"


def write_onnx(island: OnnxModel, path: str | os.PathLike[str], *, external_data: bool = False) -> None:
    """Write a model to a path that does not exist yet; an Error says why it is not valid."""
    size = sum(array.nbytes for array in island.weights.values())
    if not external_data and size <= MAX_INLINE_BYTES:
        _fill(island)
        with new_path(path) as temporary:
            temporary.write_bytes(island.model.SerializeToString())
            _check(temporary)
        return
    name = Path(path).name
    with (
        new_path(path) as temporary,
        new_path(f"{os.fspath(path)}{DATA}") as beside,
        tempfile.TemporaryDirectory(dir=temporary.parent) as folder,  # checked under their own names
    ):
        file, data = Path(folder, name), Path(folder, name + DATA)
        _place(island, data)
        file.write_bytes(island.model.SerializeToString())
        _check(file)
        os.rename(data, beside)
        os.rename(file, temporary)


def newest_opset() -> int:
    """The newest opset that the installed ONNX Runtime takes."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    opset = OLDEST
    while True:
        model = pb.ModelProto(ir_version=7)
        model.opset_import.add(domain="", version=opset + 1)
        model.graph.name = "empty"
        model.graph.node.add(op_type="Identity", input=["x"], output=["y"])
        for info in (model.graph.input.add(name="x"), model.graph.output.add(name="y")):
            info.type.tensor_type.elem_type = 1
        try:
            ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception:  # each release raises its own
            return opset
        opset += 1


def _fill(island: OnnxModel) -> None:
    for tensor in island.model.graph.initializer:
        if tensor.name in island.weights:
            tensor.raw_data = np.ascontiguousarray(island.weights[tensor.name]).tobytes()
            tensor.ClearField("data_location")
            del tensor.external_data[:]


def _place(island: OnnxModel, file: Path) -> None:
    with open(file, "xb") as out:
        for tensor in island.model.graph.initializer:
            if tensor.name in island.weights:
                array = np.ascontiguousarray(island.weights[tensor.name])
                del tensor.external_data[:]
                for key, value in (("location", file.name), ("offset", out.tell()), ("length", array.nbytes)):
                    tensor.external_data.add(key=key, value=str(value))
                out.write(array.reshape(-1).view(np.uint8).data)


def _check(path: Path) -> None:
    import onnxruntime as ort

    try:
        if importlib.util.find_spec("onnx") is not None:
            importlib.import_module("onnx.checker").check_model(str(path), full_check=True)
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # each library raises its own exceptions
        raise Error(f"the exported model is not valid ONNX: {str(error).splitlines()[0]}") from None
