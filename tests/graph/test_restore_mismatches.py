import difflib

import numpy as np
import pytest
from tests.recorded_models import graph

from tfport.formats.checkpoint.write import write_bundle
from tfport.formats.files import Folder
from tfport.formats.graph_def.signature import META_GRAPH
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.model import Model
from tfport.graph.restoring import restore_mismatches

COUNT = 50
NAMES = ", ".join(f'"layer_{i}"' for i in range(COUNT))
PARTS = ", ".join('""' for _ in range(COUNT))


def test_absent_tensors_are_listed_without_a_search_for_similar_names(tmp_path, monkeypatch):
    """Such a search for each of many tensors took minutes."""
    monkeypatch.setattr(difflib, "get_close_matches", None)
    lines = [
        f"names = Const() {{dtype=string, value=string({COUNT},)[{NAMES}]}}",
        f"parts = Const() {{dtype=string, value=string({COUNT},)[{PARTS}]}}",
        "file = Placeholder()",
        f"r = RestoreV2(file, names, parts) {{dtypes=[{', '.join(['float32'] * COUNT)}]}}",
    ]
    for i in range(COUNT):
        lines += [
            f"v{i} = VarHandleOp() {{dtype=float32, shape=(2,)}}",
            f"set{i} = AssignVariableOp(v{i}, r:{i}) {{dtype=float32}}",
        ]
    lines.append(f"restore = NoOp({', '.join(f'^set{i}' for i in range(COUNT))})")
    meta = pb.MetaGraphDef()
    meta.saver_def.restore_op_name = "restore"
    zeros = np.zeros(2, np.float32)
    write_bundle(tmp_path / "ckpt", {f"layer_{i}/kernel": (zeros, graph_pb2.DT_FLOAT) for i in range(COUNT)})
    model = Model("m", META_GRAPH, Folder(str(tmp_path)), graph("\n".join(lines)), meta)
    model.checkpoint_prefix = "ckpt"
    assert [m.key for m in restore_mismatches(model)] == [f"layer_{i}" for i in range(COUNT)]


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("dtype=float32, shape=(2,)", None),
        ("dtype=float32, shape=(?,)", None),
        ("dtype=float32, shape=(...)", None),
        ("dtype=float32", None),
        ("dtype=float32, shape=(3,)", "tensor `w` is float32 (2,), but variable `v` is float32 (3,)"),
        ("dtype=float32, shape=()", "tensor `w` is float32 (2,), but variable `v` is float32 ()"),
    ],
)
def test_a_tensor_must_have_the_shape_of_its_variable_as_far_as_it_is_known(tmp_path, variable, expected):
    assert _mismatches(tmp_path, variable, "float32", "w") == ([expected] if expected else [])


def test_a_tensor_must_have_the_type_that_the_restore_op_declares(tmp_path):
    (sentence,) = _mismatches(tmp_path, "dtype=int32, shape=(2,)", "int32", "w")
    assert sentence == "tensor `w` is float32 (2,), but variable `v` is int32 (2,)"


def test_a_tensor_must_exist(tmp_path):
    (sentence,) = _mismatches(tmp_path, "dtype=float32, shape=(2,)", "float32", "u")
    assert sentence == "there is no tensor `u` for variable `v` (float32 (2,))"


def _mismatches(folder, variable: str, dtype: str, key: str) -> list[str]:
    text = f"""
    names = Const() {{dtype=string, value=string(1,)["{key}"]}}
    parts = Const() {{dtype=string, value=string(1,)[""]}}
    file = Placeholder()
    r = RestoreV2(file, names, parts) {{dtypes=[{dtype}]}}
    v = VarHandleOp() {{{variable}}}
    set = AssignVariableOp(v, r) {{dtype={dtype}}}
    restore = NoOp(^set)
    """
    meta = pb.MetaGraphDef()
    meta.saver_def.restore_op_name = "restore"
    write_bundle(folder / "ckpt", {"w": (np.zeros(2, np.float32), graph_pb2.DT_FLOAT)})
    model = Model("m", META_GRAPH, Folder(str(folder)), graph(text), meta)
    model.checkpoint_prefix = "ckpt"
    return [str(mismatch) for mismatch in restore_mismatches(model)]
