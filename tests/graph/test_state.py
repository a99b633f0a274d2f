import shutil

import pytest
from tests.graph.restore_graphs import RESTORE
from tests.recorded_models import OPS, graph, load, path_of, shared

import tfport
from tfport.formats.files import Folder
from tfport.formats.graph_def.signature import META_GRAPH
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph import state
from tfport.graph.model import Model
from tfport.graph.state import (
    Asset,
    assets,
    restored_nodes,
    tables,
    variable_of,
    variables,
    variables_read,
)


def rows(name: str) -> list[tuple]:
    return [(v.name, str(v.dtype), str(v.shape), v.key, v.slice) for v in variables(shared(name))]


def test_tf2_variables_have_the_keys_of_their_objects():
    assert rows("module") == [
        ("calls", "int32", "()", "calls/.ATTRIBUTES/VARIABLE_VALUE", ""),
        ("b", "float32", "(3,)", "b/.ATTRIBUTES/VARIABLE_VALUE", ""),
        ("w", "float32", "(2, 3)", "w/.ATTRIBUTES/VARIABLE_VALUE", ""),
    ]


@pytest.mark.parametrize("name", ["ref_variables", "resource_variables", "first_checkpoint_format"])
def test_tf1_variables_have_their_own_names_as_keys(name):
    listed = rows(name)
    assert listed
    assert [key for _, _, _, key, _ in listed] == [name for name, *_ in listed]


def test_a_partitioned_variable_is_slices_of_one_tensor():
    parts = [row for row in rows("partitioned_variables") if row[3] == "p/table"]
    assert [part[4] for part in parts] == ["7 2 0,3:0,2", "7 2 3,2:0,2", "7 2 5,2:0,2"]
    assert [part[2] for part in parts] == ["(3, 2)", "(2, 2)", "(2, 2)"]


def test_every_variable_of_a_checkpoint_is_found():
    for name in ("keras_lstm", "optimizer_slots", "placed_variables", "sharded_checkpoint"):
        model = shared(name)
        keys = {v.key for v in variables(model)} - {None}
        stored = set(model.checkpoint.names()) - {"_CHECKPOINTABLE_OBJECT_GRAPH"}
        assert keys == {key for key in stored if "save_counter" not in key}


@pytest.mark.parametrize("name", ["module", "keras_lstm", "partitioned_variables", "estimator"])
def test_restored_variables_are_those_with_a_key(name):
    model = shared(name)
    restored = [variable_of(node, source) for node, source in restored_nodes(model)]
    assert restored
    assert restored == [v for v in variables(model) if v.key is not None]


def test_a_table_has_the_asset_that_fills_it():
    [table, *_] = tables(shared("table_from_file"))
    assert (table.filled_by, table.asset) == ("InitializeTableFromTextFileV2", "words.txt")
    assert (str(table.key), str(table.value)) == ("string", "int64")
    [table] = tables(shared("estimator"))
    assert table.asset == "words.txt"


def test_a_table_in_memory_is_filled_by_constants_or_the_checkpoint():
    in_memory = tables(shared("tables_in_memory"))
    assert {t.node.op for t in in_memory} >= {"HashTableV2", "MutableHashTableV2"}
    assert {t.asset for t in in_memory} == {None}
    assert "LookupTableImportV2" in {t.filled_by for t in in_memory}


def test_assets_have_a_size():
    assert assets(shared("table_from_file")) == [
        Asset("words.txt", "asset_path_initializer:0", 17),
        Asset("unread.txt", "asset_path_initializer_1:0", 7),
    ]


def test_tf1_assets_are_in_a_collection():
    model = load("estimator")
    collected = model.meta.collection_def["saved_model_assets"].any_list
    assert collected.value
    model.meta.ClearField("asset_file_def")
    assert assets(model) == assets(shared("estimator")) == [Asset("words.txt", "words:0", 17)]


def test_a_missing_asset_has_no_size(tmp_path):
    shutil.copytree(path_of("table_from_file"), tmp_path / "m")
    (tmp_path / "m/assets/words.txt").unlink()
    listed = assets(tfport.load(str(tmp_path / "m")))
    assert [a.nbytes for a in listed] == [None, 7]


def model_of(text: str, restore: str = "restore") -> Model:
    meta = pb.MetaGraphDef()
    meta.saver_def.restore_op_name = restore
    return Model("m", META_GRAPH, Folder("."), graph(text), meta)


def test_a_restore_is_followed_through_nodes_that_only_pass_on_values():
    restored = variables(model_of(RESTORE))
    assert [(v.name, v.key, v.slice) for v in restored] == [("v", "a", ""), ("shared", "b", "4 0,2")]


HOSTILE = {
    "names that are not strings": RESTORE.replace(
        'dtype=string, value=string(2,)["a", "b"]', "value=float32(1,)[1.0]"
    ),
    "too few names": RESTORE.replace('string(2,)["a", "b"]', 'string(1,)["a"]'),
    "no names": RESTORE.replace("(file, names, parts)", "(file)"),
    "names that are computed": RESTORE.replace("names = Const() {dtype=string", "names = Op() {dtype=string"),
    "types and shapes that are invalid": RESTORE.replace("dtype=float32, shape=(2,)", 'dtype="x", shape=1'),
    "a name that is a number": RESTORE.replace('"shared"', "7"),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_malformed_restore_leaves_variables_without_a_key(text):
    listed = variables(model_of(text))
    assert len(listed) == 2
    assert all(str(v.dtype) and v.shape is not None for v in listed)


def test_following_recursive_functions_terminates():
    bodies = "\n".join(
        f"    def f{i}(x: float32, y: float32) -> (z: float32):\n"
        + "".join(f"      c{j} = f{(i + j) % 20}({'x, y' if j % 2 else 'y, x'})\n" for j in range(20))
        + "      return z=c0"
        for i in range(20)
    )
    model = model_of(f"    x = Const()\n    y = Const()\n    restore = f0(x, y)\n{bodies}")
    assert variables(model) == []


def test_following_endless_calls_stops_at_a_limit(monkeypatch):
    monkeypatch.setattr(state, "MOST_STEPS", 1000)
    text = """
    x = Const()
    restore = f(x)
    def f(x: float32) -> (z: float32):
      n = Neg(x) {T=float32}
      c = f(n)
      return z=c
    """
    # each call passes another value: the body's own Neg, seen from another call
    assert variables(model_of(text)) == []


def test_a_call_with_the_wrong_number_of_arguments_is_not_followed():
    text = RESTORE.replace("restore = NoOp(^set_v, ^set_w)", "restore = f(file, file)") + (
        "    def f(x: string) -> ():\n      return\n"
    )
    assert [v.key for v in variables(model_of(text))] == [None, None]


def test_the_tables_of_ops_are_those_of_tensorflow():
    known = {*state.VARIABLES, *state.TABLES, *state._RESTORES, *state._ASSIGNS, *state.FILLS}
    assert all(OPS.get(op) for op in known - {"AutoReloadVariable"})


READS = """
    a = VariableV2() {dtype=float32, shape=(2,)}
    b = VarHandleOp() {dtype=float32, shape=(2,)}
    c = VarHandleOp() {dtype=float32, shape=(2,)}
    d = VariableV2() {dtype=float32, shape=(2,)}
    e = VariableV2() {dtype=float32, shape=(2,)}
    is_set = IsVariableInitialized(d) {dtype=float32}
    of_a = Identity(a) {T=float32}
    of_b = ReadVariableOp(b) {dtype=float32}
    set_c = AssignVariableOp(c, of_b) {dtype=float32}
    of_c = ReadVariableOp(c, ^set_c) {dtype=float32}
    switch = Switch(of_a, is_set) {T=float32}
    pivot = Identity(switch:1) {T=float32}
    of_e = Identity(e, ^pivot) {T=float32}
    sum = AddN(of_a, of_c, of_e) {N=3, T=float32}
"""


def test_variables_read_are_those_that_a_run_always_reads_before_they_are_assigned():
    built = graph(READS)
    assert {node.name for node in variables_read([built.find("sum")])} == {"a", "b"}
