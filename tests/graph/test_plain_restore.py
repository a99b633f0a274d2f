"""Restore ops whose effect is known without running them."""

from __future__ import annotations

import pytest
from tests.graph.restore_graphs import PLAIN
from tests.recorded_models import graph, shared

from tfport.formats.files import Folder
from tfport.formats.graph_def.signature import META_GRAPH
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph import restoring
from tfport.graph.model import Model
from tfport.graph.restoring import plain_restores
from tfport.graph.state import restored_nodes, shared_name

IN_A_FUNCTION = """
    file = Placeholder()
    w = VarHandleOp() {dtype=float32, shape=(2,)}
    v = VarHandleOp() {dtype=float32, shape=(2,)}
    a = Const() {dtype=string, value=string(1,)["a"]}
    b = Const() {dtype=string, value=string(1,)["b"]}
    one = f(file, w, a)
    two = f(file, v, b)
    restore = NoOp(^one, ^two)
    def f(file: string, handle: resource, names: string) -> ():
      parts = Const() {dtype=string, value=string(1,)[""]}
      r = RestoreV2(file, names, parts) {dtypes=[float32]}
      set = AssignVariableOp(handle, r) {dtype=float32}
      return
"""


def model_of(text: str) -> Model:
    meta = pb.MetaGraphDef()
    meta.saver_def.restore_op_name, meta.saver_def.filename_tensor_name = "restore", "file:0"
    return Model("m", META_GRAPH, Folder("."), graph(text), meta)


def tensors_of(text: str) -> dict[str, str] | None:
    restored = plain_restores(model_of(text))
    return None if restored is None else {shared_name(node): key for node, (key, *_) in restored.items()}


def test_whole_tensors_that_are_assigned_to_variables():
    assert tensors_of(PLAIN) == {"v": "a", "shared": "b"}


def test_each_call_of_a_function_has_its_own_arguments():
    assert tensors_of(IN_A_FUNCTION) == {"w": "a", "v": "b"}


OTHERS = {
    "a slice": PLAIN.replace('["", ""]', '["", "4 0,2"]'),
    "another file": PLAIN.replace("(file, names", "(names, names"),
    "computed names": PLAIN.replace("names = Const()", "names = StringJoin()"),
    "too few names": PLAIN.replace('string(2,)["a", "b"]', 'string(1,)["a"]'),
    "too few types": PLAIN.replace("[float32, float32]", "[float32]"),
    "a cast": PLAIN.replace("Identity(r:1) {T=float32}", "Cast(r:1) {SrcT=float32, DstT=float32}"),
    "a value that is not restored": PLAIN.replace("Identity(r:1)", "Identity(parts)"),
    "a variable that is assigned twice": PLAIN.replace("Assign(v, r)", "AssignVariableOp(w, r)"),
    "two handles of one variable": PLAIN.replace('"shared"', '"v"'),
    "an assignment of the wrong kind": PLAIN.replace("Assign(v, r)", "Assign(w, r)"),
    "another effect": PLAIN.replace("restore = NoOp(", "p = Print(r)\n    restore = NoOp(^p, "),
    "an argument too many": IN_A_FUNCTION.replace("f(file, v, b)", "f(file, v, b, b)"),
    "a circle": PLAIN.replace("Identity(r:1)", "Identity(set_v)").replace("Assign(v, r)", "Identity(read)"),
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_any_other_restore_op_has_to_run(text):
    assert tensors_of(text) is None


def test_so_does_one_that_is_too_large_to_follow(monkeypatch):
    monkeypatch.setattr(restoring, "MOST_STEPS", 10)
    assert tensors_of(PLAIN) is None


@pytest.mark.parametrize("name", ["module", "keras_lstm", "ref_variables", "resource_variables"])
def test_the_tensors_are_those_that_are_found_by_following_the_restore_op(name):
    model = shared(name)
    assert plain_restores(model) == dict(restored_nodes(model))


def test_a_partitioned_variable_is_not_restored_plainly():
    assert plain_restores(shared("partitioned_variables")) is None
