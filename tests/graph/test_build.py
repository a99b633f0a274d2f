import pytest
from google.protobuf import text_format
from tests.graph.canonical import canonical
from tests.recorded_models import OPS, PROGRAMS, path_of, shared

from tfport.errors import MalformedGraph
from tfport.formats.encoding.message import read_message
from tfport.formats.find import find_model
from tfport.formats.proto import graph_pb2 as pb
from tfport.formats.proto import saved_model_pb2
from tfport.graph.build import graph_from_def, graph_to_def
from tfport.graph.reach import every_node


def records(name: str) -> list[pb.GraphDef]:
    """The GraphDefs of a recorded model."""
    location = find_model(path_of(name))
    kind = {
        "saved_model": saved_model_pb2.SavedModel,
        "meta_graph": saved_model_pb2.MetaGraphDef,
        "graph_def": pb.GraphDef,
    }[location.format.key]
    message = read_message(kind, location.files, location.name)
    if kind is pb.GraphDef:
        return [message]
    return [
        meta.graph_def for meta in (message.meta_graphs if kind is saved_model_pb2.SavedModel else [message])
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_bytes_to_graph_to_bytes_is_the_same_program(name):
    for record in records(name):
        assert canonical(graph_to_def(graph_from_def(record, OPS))) == canonical(record)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_the_same_program_after_every_attribute_was_decoded(name):
    for record in records(name):
        graph = graph_from_def(record, OPS)
        for node in every_node(graph):
            assert node.attrs is not None
            assert not node.attrs_are_as_read
        assert canonical(graph_to_def(graph)) == canonical(record)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_written_graph_is_read_as_the_same_graph(name):
    graph = shared(name).graph
    again = graph_from_def(graph_to_def(graph), OPS)
    for ours, theirs in zip(every_node(graph), every_node(again), strict=True):
        assert list(map(str, ours.inputs)) == list(map(str, theirs.inputs))
        assert [c.name for c in ours.controls] == [c.name for c in theirs.controls]
        assert [v.dtype for v in ours.inputs] == [v.dtype for v in theirs.inputs]


def build(text: str):
    return graph_from_def(text_format.Parse(text, pb.GraphDef()), OPS)


def rebuilt(text: str) -> tuple[bytes, bytes]:
    record = text_format.Parse(text, pb.GraphDef())
    return canonical(graph_to_def(graph_from_def(record, OPS))), canonical(record)


SAME = {
    "zero is no number": 'node {name:"x" op:"Const"} node {name:"y" op:"Neg" input:"x:0"}',
    "controls in any order, twice": 'node {name:"a" op:"NoOp"} node {name:"b" op:"NoOp"}'
    'node {name:"y" op:"NoOp" input:"^b" input:"^a" input:"^b"}',
    "a missing input": 'node {name:"y" op:"Add" input:"gone:3" input:"gone" input:"^lost"}',
    "an unknown op": 'node {name:"y" op:"Acme>Tokenize" attr {key:"lang" value {s:"en"}}}',
    "an output that no release has": 'node {name:"x" op:"Const"} node {name:"y" op:"Neg" input:"x:7"}',
    "a loop": 'node {name:"m" op:"Merge" input:"n" input:"n"} node {name:"n" op:"NextIteration" input:"m"}',
    "debug information": 'node {name:"x" op:"Const" experimental_debug_info {original_node_names:"o"}'
    " experimental_type {type_id: TFT_TENSOR}}",
    "versions": "versions {producer:24 min_consumer:12 bad_consumers:3} version:9",
    "gradients": 'library {gradient {function_name:"f" gradient_func:"g"} function {signature {name:"f"}}'
    ' registered_gradients {gradient_func:"g" registered_op_type:"h"}}',
    "unset and empty attributes": 'node {name:"x" op:"Op" attr {key:"a" value {}}'
    ' attr {key:"b" value {list {}}}}',
}
FUNCTION = (
    'library {function {signature {name:"f" input_arg {name:"x" type:DT_FLOAT}'
    ' output_arg {name:"y" type:DT_FLOAT}'
)
SAME_FUNCTIONS = {
    "an argument by name": FUNCTION
    + '} node_def {name:"n" op:"Neg" input:"x:0"} ret {key:"y" value:"n:y:0"}}}',
    "named ports of an unknown op": FUNCTION + '} node_def {name:"n" op:"Acme" input:"x"}'
    ' node_def {name:"m" op:"Acme" input:"n:second:1" input:"n:first:0"} ret {key:"y" value:"m:first:0"}}}',
    "a whole list of unknown length": FUNCTION
    + '} node_def {name:"n" op:"Acme" input:"x"} ret {key:"y" value:"n:second"}}}',
    "a list of generic length": 'library {function {signature {name:"f"'
    ' input_arg {name:"x" type:DT_FLOAT number_attr:"N"}'
    ' output_arg {name:"y" type:DT_FLOAT} attr {name:"N" type:"int"}}'
    ' node_def {name:"n" op:"AddN" input:"x" attr {key:"N" value {placeholder:"N"}}}'
    ' node_def {name:"m" op:"Add" input:"x:1" input:"x:0"} ret {key:"y" value:"n:sum:0"}}}',
    "control returns, attributes of arguments": FUNCTION
    + ' control_output:"done"} node_def {name:"n" op:"NoOp"}'
    ' control_ret {key:"done" value:"n"} ret {key:"y" value:"x"} attr {key:"_noinline" value {b:true}}'
    ' arg_attr {key:0 value {attr {key:"_output_shapes" value {list {shape {dim {size:3}}}}}}}'
    " resource_arg_unique_id {key:0 value:7}}}",
    "a port that the op does not declare": FUNCTION + '} node_def {name:"n" op:"Unique" input:"x"}'
    ' node_def {name:"m" op:"Acme" input:"n:y:0" input:"n:extra:0" input:"n:idx:0"}'
    ' ret {key:"y" value:"n:y:0"}}}',
    "a missing node": FUNCTION
    + '} node_def {name:"n" op:"Neg" input:"gone:y:0" input:"lost"} ret {key:"y" value:"x"}}}',
    "no result": FUNCTION + "}}}",
    "one function calls another": FUNCTION
    + '} node_def {name:"n" op:"g" input:"x"} ret {key:"y" value:"n:z:0"}}'
    ' function {signature {name:"g" input_arg {name:"x" type:DT_FLOAT} output_arg {name:"z" type:DT_FLOAT}}'
    ' ret {key:"z" value:"x"}}}',
}


@pytest.mark.parametrize("text", [*SAME.values(), *SAME_FUNCTIONS.values()], ids=[*SAME, *SAME_FUNCTIONS])
def test_a_graph_survives_a_round_trip(text):
    written, read = rebuilt(text)
    assert written == read


def test_unknown_outputs_are_distinct_from_declared_ones():
    text = SAME_FUNCTIONS["a port that the op does not declare"]
    body = build(text).library.functions["f"]
    y, extra, idx = body["m"].inputs
    assert [v.port for v in (y, extra, idx)] == [("y", 0), ("extra", 0), ("idx", 0)]
    assert (y.index, idx.index, extra.is_placed) == (0, 1, False)
    assert extra is not idx


def test_a_missing_input_is_a_stand_in():
    graph = build(SAME["a missing input"])
    assert sorted(graph.missing) == ["gone", "lost"]
    assert [node.op for node in graph.missing.values()] == ["", ""]
    assert graph.missing["gone"].users == [graph["y"]]
    graph.remove(graph["y"])
    assert graph.missing == {}


def test_a_list_resolves_to_all_its_tensors():
    text = (
        'library {function {signature {name:"f" input_arg {name:"x" type:DT_FLOAT number_attr:"N"}'
        ' output_arg {name:"y" type:DT_FLOAT number_attr:"N"} attr {name:"N" type:"int"}}'
        ' node_def {name:"n" op:"AddN" input:"x"} ret {key:"y" value:"x"} attr {key:"N" value {i:3}}}}'
    )
    body = build(text).library.functions["f"]
    assert list(map(str, body["n"].inputs)) == ["x", "x:1", "x:2"]
    assert len(body.results) == 3
    assert graph_to_def(build(text)).library.function[0].ret["y"] == "x"


@pytest.mark.parametrize("last", [2, 3])
def test_tensors_of_a_list_are_found_where_the_list_begins(last):
    """Also the second time, and one that the list does not have is not one of another output."""
    inputs = "".join(f' input:"s:output:{place}"' for place in (0, 1, last))
    text = (
        'library {function {signature {name:"f"} node_def {name:"s" op:"PyFunc" attr {key:"Tout" value {list'
        " {type:[DT_INT32, DT_INT32, DT_INT32]}}}}"
        f' node_def {{name:"n" op:"AddN"{inputs}}}}}}}'
    )
    values = build(text).library.functions["f"]["n"].inputs
    assert [value.index for value in values] == [0, 1, last]
    assert [value.port for value in values] == [("output", place) for place in (0, 1, last)]
    assert [value.is_placed for value in values] == [True, True, last < 3]


REFUSED = [
    ('node {name:"x" op:"A"} node {name:"x" op:"B"}', "two nodes have the name `x`"),
    ('node {name:"x" op:"A" input:"y:z"}', "`y:z` is not a tensor: expected a number after the last colon"),
    ('node {name:"x" op:"A" input:"y:-1"}', "`y:-1` is not a tensor: expected a number after the last colon"),
    (
        'node {name:"x" op:"A" input:"y:99999999999"}',
        "`y:99999999999` is not a tensor: expected a number after the last colon",
    ),
    (FUNCTION + '}} function {signature {name:"f"}}}', "two functions have the name `f`"),
    ("library {function {signature {}}}", "a function has no name"),
    (FUNCTION + ' input_arg {name:"x"}}}}', "two arguments of function `f` have the name `x`"),
    (FUNCTION + ' output_arg {name:"y"}}}}', "two arguments of function `f` have the name `y`"),
    (FUNCTION + '} node_def {name:"x" op:"A"}}}', "two nodes have the name `x`"),
    (
        FUNCTION + '} node_def {name:"n" op:"Neg" input:"m:y:one"}}}',
        "`m:y:one` is not a tensor: expected a number after the last colon",
    ),
    (
        FUNCTION + '} node_def {name:"s" op:"Split" attr {key:"num_split" value {i:9000000000}}}'
        ' node_def {name:"n" op:"AddN" input:"s:output"}}}',
        "`s:output` in function `f` refers to 9000000000 tensors, too many",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), REFUSED)
def test_a_malformed_graph_is_refused(text, sentence):
    with pytest.raises(MalformedGraph) as refused:
        build(text)
    assert str(refused.value) == sentence


def test_a_malformed_attribute_is_named_with_its_node():
    graph = build('node {name:"x" op:"A" attr {key:"a" value {list {i:1 s:"b"}}}}')
    with pytest.raises(
        MalformedGraph, match=r"^node `x`: expected a list attribute with elements of one kind, found s and i"
    ):
        graph["x"].attrs  # noqa: B018


def test_attributes_of_a_function_are_decoded_on_first_access_and_named_with_it():
    text = 'library {function {signature {name:"f" input_arg {name:"x" type:DT_FLOAT}} %s}}'
    good = build(text % 'attr {key:"a" value {i:1}}').library.functions["f"]
    assert good.attrs == {"a": 1}
    assert good.args["x"].attrs is good.attrs
    assert good.args["x"].attr("a") == 1
    bad = build(text % 'attr {key:"a" value {list {i:1 s:"b"}}}').library.functions["f"]
    with pytest.raises(
        MalformedGraph, match=r"^function `f`: expected a list attribute with elements of one kind"
    ):
        bad.attrs  # noqa: B018


def test_many_small_references_to_a_long_list_are_refused(monkeypatch):
    monkeypatch.setattr("tfport.graph.build.MOST_OUTPUTS", 1000)
    nodes = "".join(f'node_def {{name:"n{i}" op:"AddN" input:"s:output"}}' for i in range(11))
    text = FUNCTION + '} node_def {name:"s" op:"Split" attr {key:"num_split" value {i:100}}}' + nodes + "}}"
    with pytest.raises(MalformedGraph, match=r"^`s:output` in function `f` refers to 100 tensors, too many$"):
        build(text)


def test_a_return_of_several_sources_cannot_be_written():
    text = (
        'library {function {signature {name:"f" input_arg {name:"x" type:DT_FLOAT number_attr:"N"}'
        ' output_arg {name:"y" type:DT_FLOAT number_attr:"N"} attr {name:"N" type:"int"}}'
        ' ret {key:"y" value:"x"} attr {key:"N" value {i:2}}}}'
    )
    graph = build(text)
    returned = graph.library.functions["f"].returns["y"]
    returned.set_inputs(reversed(returned.inputs))
    with pytest.raises(
        MalformedGraph, match=r"^return `y` returns x:1, x:0; a function can only return a whole list$"
    ):
        graph_to_def(graph)


def test_shapes_of_arguments_are_those_of_the_file():
    body = build(SAME_FUNCTIONS["control returns, attributes of arguments"]).library.functions["f"]
    assert str(body.args["x"].output(0).shape) == "(3,)"


def test_control_returns_have_one_order():
    """A protobuf map has none: `fix` would write its control inputs in another order each time."""
    names = [f"n{index}" for index in range(20)]
    function = pb.FunctionDef(signature=pb.OpDef(name="f"), control_ret={name: name for name in names})
    for name in names:
        function.node_def.add(name=name, op="NoOp")
    record = pb.GraphDef(library=pb.FunctionDefLibrary(function=[function]))
    read = graph_from_def(record, OPS).library.functions["f"]
    assert list(read.control_returns) == sorted(names)
