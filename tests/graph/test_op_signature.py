import pytest
from tests.recorded_models import OPS, graph

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Placeholder
from tfport.graph.dtypes import FLOAT32, INT32, INVALID, STRING
from tfport.graph.op_signature import OpSignature, OpTable

TWO_LISTS = OpSignature(
    pb.OpDef(
        name="Two",
        output_arg=[
            {"name": "first", "type_attr": "T", "number_attr": "N"},
            {"name": "middle", "type": pb.DT_STRING},
            {"name": "last", "type_list_attr": "Ts"},
        ],
        attr=[{"name": "N", "type": "int", "default_value": {"i": 2}}, {"name": "T", "type": "type"}],
    )
)
ATTRS = {"N": 3, "T": FLOAT32, "Ts": [INT32, STRING]}

PORTS = [  # index, argument, place, type
    (0, "first", 0, FLOAT32),
    (2, "first", 2, FLOAT32),
    (3, "middle", 0, STRING),
    (4, "last", 0, INT32),
    (5, "last", 1, STRING),
]


@pytest.mark.parametrize(("index", "name", "place", "dtype"), PORTS)
def test_an_output_has_a_position_and_a_name(index, name, place, dtype):
    arg, index_in_arg = TWO_LISTS.port_of(index, ATTRS)
    assert (arg.name, index_in_arg) == (name, place)
    assert TWO_LISTS.index_of(name, place, ATTRS) == index
    assert TWO_LISTS.output_type(index, ATTRS) == dtype


def test_types_of_all_outputs():
    assert TWO_LISTS.output_types(ATTRS) == (FLOAT32, FLOAT32, FLOAT32, STRING, INT32, STRING)
    flat = OpSignature(pb.OpDef(name="Flat", output_arg=[{"name": "y", "type_attr": "T"}] * 2))
    assert flat.output_types({"T": INT32}) == (INT32, INT32)
    assert flat.output_types({}) == (INVALID, INVALID)


def test_counts_come_from_attributes_and_their_defaults():
    assert TWO_LISTS.output_count(ATTRS) == 6
    assert TWO_LISTS.output_count({"Ts": []}) == 3
    assert TWO_LISTS.index_of("middle", 0, {}) == 2
    assert TWO_LISTS.length_of("first", {}) == 2
    assert TWO_LISTS.length_of("last", ATTRS) == 2


UNKNOWN = [
    {},
    {"N": Placeholder("N"), "Ts": []},
    {"N": "three", "Ts": []},
    {"N": 1.5, "Ts": []},
    {"N": None, "Ts": []},
    {"Ts": "abc"},
    {"Ts": Placeholder("Ts")},
]


@pytest.mark.parametrize("attrs", UNKNOWN, ids=str)
def test_missing_attributes_leave_outputs_unknown(attrs):
    assert TWO_LISTS.output_count(attrs) is None
    assert TWO_LISTS.length_of("last", attrs) is None
    assert TWO_LISTS.index_of("last", 0, attrs) is None
    assert TWO_LISTS.output_type(9, attrs) == INVALID
    assert TWO_LISTS.port_of(9, attrs) is None


def test_there_are_no_outputs_beyond_the_declared_ones():
    assert TWO_LISTS.index_of("first", 3, ATTRS) is None
    assert TWO_LISTS.index_of("nobody", 0, ATTRS) is None
    assert TWO_LISTS.port_of(6, ATTRS) is None
    plain = OPS.get("MatMul")
    assert plain.index_of("product", 1, {}) is None
    assert plain.port_of(1, {}) is None
    assert plain.output_type(0, {"T": "no type"}) == INVALID


def test_a_negative_number_of_tensors_means_none():
    assert TWO_LISTS.output_count({"N": -5, "Ts": []}) == 1


def test_references_have_their_own_types():
    assert OPS.get("VariableV2").output_type(0, {"dtype": FLOAT32}) == FLOAT32.ref


def test_defaults_apply_if_a_file_leaves_attributes_out():
    # exporters strip attributes that have their default: Unique without out_idx
    unique = graph("x = Placeholder() {dtype=float32}\nu = Unique(x) {T=float32}")["u"]
    assert [value.dtype for value in unique.outputs] == [FLOAT32, INT32]


def test_a_table_looks_up_each_op_once():
    asked = []

    class Definitions(dict):
        def get(self, name):
            asked.append(name)
            return super().get(name)

    table = OpTable(Definitions({"Two": pb.OpDef(name="Two")}))
    assert table.get("Two") is table.get("Two")
    assert table.get("Nobody") is table.get("Nobody") is None
    assert asked == ["Two", "Nobody"]


def test_a_node_with_too_many_outputs_is_refused():
    split = graph("x = Const()\ns = Split(x, x) {num_split=1000000000000, T=float32}")["s"]
    with pytest.raises(MalformedGraph, match=r"^`s` has 1000000000000 outputs, more than 1048576$"):
        split.outputs  # noqa: B018
