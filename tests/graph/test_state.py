import shutil

import pytest
from tests.recorded_models import OPS, graph, load, path_of, shared

import tfport
from tfport.formats.files import Folder
from tfport.formats.graph_def.signature import META_GRAPH
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph import state
from tfport.graph.model import Model
from tfport.graph.state import Asset, assets, tables, variables


def rows(name: str) -> list[tuple]:
    return [(v.name, str(v.dtype), str(v.shape), v.key, v.slice) for v in variables(shared(name))]


def test_the_variables_of_objects_have_the_keys_of_objects():
    assert rows("module") == [
        ("calls", "int32", "()", "calls/.ATTRIBUTES/VARIABLE_VALUE", ""),
        ("b", "float32", "(3,)", "b/.ATTRIBUTES/VARIABLE_VALUE", ""),
        ("w", "float32", "(2, 3)", "w/.ATTRIBUTES/VARIABLE_VALUE", ""),
    ]


@pytest.mark.parametrize("name", ["ref_variables", "resource_variables", "first_checkpoint_format"])
def test_the_variables_of_a_session_have_their_own_names(name):
    found = rows(name)
    assert found
    assert [key for _, _, _, key, _ in found] == [name for name, *_ in found]


def test_a_partitioned_variable_is_parts_of_one_tensor():
    parts = [row for row in rows("partitioned_variables") if row[3] == "p/table"]
    assert [part[4] for part in parts] == ["7 2 0,3:0,2", "7 2 3,2:0,2", "7 2 5,2:0,2"]
    assert [part[2] for part in parts] == ["(3, 2)", "(2, 2)", "(2, 2)"]


def test_every_variable_of_a_checkpoint_is_found():
    for name in ("keras_lstm", "optimizer_slots", "placed_variables", "sharded_checkpoint"):
        model = shared(name)
        keys = {v.key for v in variables(model)} - {None}
        stored = set(model.checkpoint.names()) - {"_CHECKPOINTABLE_OBJECT_GRAPH"}
        assert keys == {key for key in stored if "save_counter" not in key}


def test_a_table_has_the_asset_that_fills_it():
    [table, *_] = tables(shared("table_from_file"))
    assert (table.filled_by, table.asset) == ("InitializeTableFromTextFileV2", "words.txt")
    assert (str(table.key), str(table.value)) == ("string", "int64")
    [table] = tables(shared("estimator"))
    assert table.asset == "words.txt"


def test_a_table_in_memory_is_filled_by_constants_or_the_checkpoint():
    found = tables(shared("tables_in_memory"))
    assert {t.node.op for t in found} >= {"HashTableV2", "MutableHashTableV2"}
    assert {t.asset for t in found} == {None}
    assert "LookupTableImportV2" in {t.filled_by for t in found}


def test_assets_are_told_with_their_size():
    assert assets(shared("table_from_file")) == [
        Asset("words.txt", "asset_path_initializer:0", 17),
        Asset("unread.txt", "asset_path_initializer_1:0", 7),
    ]


def test_assets_stood_in_a_collection_before():
    model = load("estimator")
    collected = model.meta.collection_def["saved_model_assets"].any_list
    assert collected.value
    model.meta.ClearField("asset_file_def")
    assert assets(model) == assets(shared("estimator")) == [Asset("words.txt", "words:0", 17)]


def test_a_missing_asset_has_no_size(tmp_path):
    shutil.copytree(path_of("table_from_file"), tmp_path / "m")
    (tmp_path / "m/assets/words.txt").unlink()
    found = assets(tfport.load(str(tmp_path / "m")))
    assert [a.nbytes for a in found] == [None, 7]


def model_of(text: str, restore: str = "restore") -> Model:
    meta = pb.MetaGraphDef()
    meta.saver_def.restore_op_name = restore
    return Model("m", META_GRAPH, Folder("."), graph(text), meta)


RESTORE = """
    names = Const() {dtype=string, value=string(2,)["a", "b"]}
    parts = Const() {dtype=string, value=string(2,)["", "4 0,2"]}
    file = Placeholder()
    r = RestoreV2(file, names, parts) {dtypes=[float32, float32]}
    v = VariableV2() {dtype=float32, shape=(2,)}
    w = VarHandleOp() {dtype=float32, shape=(2,), shared_name="shared"}
    read = Identity(r:1) {T=float32}
    set_v = Assign(v, r) {T=float32}
    set_w = AssignVariableOp(w, read) {dtype=float32}
    restore = NoOp(^set_v, ^set_w)
"""


def test_what_restores_a_variable_is_followed_through_what_only_passes_it_on():
    found = variables(model_of(RESTORE))
    assert [(v.name, v.key, v.slice) for v in found] == [("v", "a", ""), ("shared", "b", "4 0,2")]


HOSTILE = {
    "names that are no strings": RESTORE.replace(
        'dtype=string, value=string(2,)["a", "b"]', "value=float32(1,)[1.0]"
    ),
    "too few names": RESTORE.replace('string(2,)["a", "b"]', 'string(1,)["a"]'),
    "no names": RESTORE.replace("(file, names, parts)", "(file)"),
    "names that are computed": RESTORE.replace("names = Const() {dtype=string", "names = Op() {dtype=string"),
    "types and shapes that are none": RESTORE.replace("dtype=float32, shape=(2,)", 'dtype="x", shape=1'),
    "a name that is none": RESTORE.replace('"shared"', "7"),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_strange_restore_leaves_variables_without_key(text):
    found = variables(model_of(text))
    assert len(found) == 2
    assert all(str(v.dtype) and v.shape is not None for v in found)


def test_functions_that_call_themselves_and_each_other_are_followed_to_an_end():
    bodies = "\n".join(
        f"    def f{i}(x: float32, y: float32) -> (z: float32):\n"
        + "".join(f"      c{j} = f{(i + j) % 20}({'x, y' if j % 2 else 'y, x'})\n" for j in range(20))
        + "      return z=c0"
        for i in range(20)
    )
    model = model_of(f"    x = Const()\n    y = Const()\n    restore = f0(x, y)\n{bodies}")
    assert variables(model) == []


def test_a_program_that_calls_without_end_is_left_at_some_point(monkeypatch):
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
    known = {*state.VARIABLES, *state.TABLES, *state._RESTORES, *state._ASSIGNS, *state._FILLS}
    assert all(OPS.get(op) for op in known - {"AutoReloadVariable"})
