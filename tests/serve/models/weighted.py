"""Helpers: models of several megabytes with two signatures, whose weights all have one value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.recorded_models import graph

from tfport.formats.checkpoint.write import write_bundle
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.build import graph_to_def

ROWS, COLUMNS = 1300, 1000
"""Each of two matrices has 5.2 MB: files of up to 4 MB are read at once, larger ones were mapped."""
SIGNATURES = ("serving_default", "other")
WEIGHTED = f"""
    file = Const() {{dtype=string, value=string()["model"]}}
    names = Const() {{dtype=string, value=string(2,)["v", "w"]}}
    parts = Const() {{dtype=string, value=string(2,)["", ""]}}
    restored = RestoreV2(file, names, parts) {{dtypes=[float32, float32]}}
    v = VarHandleOp() {{dtype=float32, shape=({ROWS}, {COLUMNS}), shared_name="v"}}
    w = VarHandleOp() {{dtype=float32, shape=({ROWS}, {COLUMNS}), shared_name="w"}}
    set_v = AssignVariableOp(v, restored) {{dtype=float32}}
    set_w = AssignVariableOp(w, restored:1) {{dtype=float32}}
    restore = NoOp(^set_v, ^set_w)
    x = Placeholder() {{dtype=int32, shape=(?)}}
    axis = Const() {{dtype=int32, value=int32()[0]}}
    last = Const() {{dtype=int32, value=int32()[1]}}
    read_v = ReadVariableOp(v) {{dtype=float32}}
    read_w = ReadVariableOp(w) {{dtype=float32}}
    rows_v = GatherV2(read_v, x, axis) {{Tparams=float32, Tindices=int32, Taxis=int32}}
    rows_w = GatherV2(read_w, x, axis) {{Tparams=float32, Tindices=int32, Taxis=int32}}
    serving_default = Mean(rows_v, last) {{T=float32, Tidx=int32}}
    other = Mean(rows_w, last) {{T=float32, Tidx=int32}}
"""
"""Both signatures answer the means of rows of a matrix, and so the value of the weights."""


def weighted(folder: Path, value: float, rows: int = ROWS) -> Path:
    """Write a SavedModel whose weights are all `value`; with fewer rows, their file is shorter."""
    meta = pb.MetaGraphDef()
    program = graph(WEIGHTED.replace(str(ROWS), str(rows)))
    meta.graph_def.CopyFrom(graph_to_def(program))
    meta.meta_info_def.tags.append("serve")
    meta.saver_def.filename_tensor_name = "file:0"
    meta.saver_def.restore_op_name = "restore"
    for name in SIGNATURES:
        signature = meta.signature_def[name]
        signature.method_name = "tensorflow/serving/predict"
        for into, key, tensor in ((signature.inputs, "x", "x:0"), (signature.outputs, "y", f"{name}:0")):
            into[key].name, into[key].dtype = tensor, program.value(tensor).dtype.number
            into[key].tensor_shape.CopyFrom(program.value(tensor).shape.to_proto())
    (folder / "variables").mkdir(parents=True)
    model = pb.SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
    (folder / "saved_model.pb").write_bytes(model.SerializeToString())
    values = np.full((rows, COLUMNS), value, np.float32)
    tensors = dict.fromkeys(("v", "w"), (values, graph_pb2.DT_FLOAT))
    write_bundle(folder / "variables" / "variables", tensors)
    return folder
