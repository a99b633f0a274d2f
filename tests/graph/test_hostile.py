"""Malicious programs: each is read or refused with a tfport.Error, in reasonable time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.error_messages import reads_or_raises_one_line
from tests.recorded_models import OPS, PROGRAMS, graph, load

import tfport
from tfport.formats.files import Folder
from tfport.formats.graph_def.signature import META_GRAPH
from tfport.formats.proto import graph_pb2 as pb
from tfport.formats.proto import saved_model_pb2
from tfport.graph.build import graph_from_def, graph_to_def
from tfport.graph.graph import Graph
from tfport.graph.inline import callee, inline
from tfport.graph.model import Model
from tfport.graph.reach import in_order
from tfport.graph.text import graph_text


def model_of(program: Graph, meta: saved_model_pb2.MetaGraphDef | None = None) -> Model:
    return Model("m", META_GRAPH, Folder("."), program, meta or saved_model_pb2.MetaGraphDef())


def read_everything(model: Model) -> None:
    """Read everything of a model."""
    report = tfport.inspect(model)
    assert str(report)
    assert report.to_json()
    graph_text(model.graph)
    with reads_or_raises_one_line():
        graph_to_def(model.graph).SerializeToString()
    for body in (model.graph, *model.graph.library.functions.values()):
        with reads_or_raises_one_line():
            in_order(body)
        for call in [node for node in body if callee(node)]:
            with reads_or_raises_one_line():
                inline(call)


def test_a_hundred_thousand_signatures_are_shown_and_counted_up_to_a_limit():
    program = Graph(OPS)
    node = program.add("Placeholder", name="x")
    for i in range(300):
        node = program.add("Neg", [node.output(0)], name=f"n{i}")
    meta = saved_model_pb2.MetaGraphDef()
    for i in range(100_000):
        meta.signature_def[f"s{i}"].outputs["y"].name = f"n{i % 300}:0"
    report = tfport.inspect(model_of(program, meta))
    assert len(report.census.signatures) == 100_000
    assert len(str(report).splitlines()) < 100


def test_signatures_without_tensors_are_reported():
    meta = saved_model_pb2.MetaGraphDef()
    for i, name in enumerate(["x:99999999999", "", "gone:0", "x:7", "x:-1", "::::"]):
        meta.signature_def["s"].outputs[f"y{i}"].name = name
    report = tfport.inspect(model_of(graph("x = Placeholder() {dtype=float32}"), meta))
    assert sorted(report.problems) == sorted(
        f"tensor `{name}` of signature s is not in the graph"
        for name in ["x:99999999999", "", "gone:0", "x:7", "x:-1", "::::"]
    )


SELF = """
    x = Const()
    c = f(x, x)
    d = StatefulPartitionedCall(x) {f=@f, Tout=[float32]}
    def f(x: float32, y: float32) -> (z: float32):
      a = f(x, y)
      b = f(a, a, a)
      w = While(a) {body=@f, cond=@f}
      return z=b
"""


def test_functions_that_call_themselves_are_read():
    model = model_of(graph(SELF))
    model.meta.saver_def.restore_op_name = "c"
    model.meta.collection_def["saved_model_main_op"].node_list.value.append("d")
    read_everything(model)


def nested(depth: int) -> str:
    inner = 'placeholder: "T"'
    for _ in range(depth):
        inner = f'func {{ name: "f" attr {{ key: "a" value {{ {inner} }} }} }}'
    return f'node {{ name: "x" op: "Op" attr {{ key: "a" value {{ {inner} }} }} }}'


@pytest.mark.parametrize("depth", [5, 30, 60, 200, 1000])
def test_attributes_inside_attributes_are_read_or_refused(depth, tmp_path):
    with reads_or_raises_one_line():
        model = tfport.load(nested(depth).encode())
        read_everything(model)
        tfport.save(model, str(tmp_path / "saved.pb"))
        tfport.load(str(tmp_path / "saved.pb"))
    assert depth > 5 or (tmp_path / "saved.pb").exists()


NUMBERS = [-1, 0, 1 << 20, 1 << 40, (1 << 63) - 1]


@pytest.mark.parametrize("n", NUMBERS)
def test_any_number_of_outputs_is_read_or_refused(n):
    record = pb.GraphDef()
    record.node.add(name="s", op="Split").attr["num_split"].i = n
    record.node.add(name="y", op="Neg", input=["s:1048575", "s"])
    function = record.library.function.add()
    function.signature.name = "f"
    function.signature.input_arg.add(name="x", type=1, number_attr="N")
    function.signature.output_arg.add(name="y", type=1, number_attr="N")
    function.attr["N"].i = n
    function.node_def.add(name="s", op="Split", input=["x:0"]).attr["num_split"].i = n
    function.node_def.add(name="c", op="f", input=["s:output:1000", "x:99"]).attr["N"].i = n
    record.node.add(name="c", op="f", input=["y"]).attr["N"].i = n
    model = model_of(graph_from_def(record, OPS))
    model.meta.saver_def.restore_op_name = "c"
    read_everything(model)


def test_a_node_of_a_hundred_thousand_inputs_is_edited_in_time():
    program = Graph(OPS)
    many = [program.add("Const", name="c").output(0) for _ in range(50_000)]
    reader = program.add("Pack", many + many, name="reader")
    assert in_order(program)[-1] is reader
    reader.replace_by([many[0]], [])
    program.prune(list(program)[:-1])
    assert len(program) == 50_000


def test_ten_thousand_calls_are_inlined_in_time():
    program = graph("""
        x = Const() {dtype=float32}
        def f(x: float32) -> (y: float32):
          n = Neg(x) {T=float32}
          return y=n
    """)
    value = program["x"].output(0)
    for _ in range(10_000):
        value = program.add("f", [value], name="call").output(0)
    for call in [node for node in program if callee(node)]:
        inline(call)
    assert len(program) == 20_001


@given(st.sampled_from(PROGRAMS), st.data())
@settings(max_examples=60, deadline=None)
def test_a_changed_program_is_read_or_refused(name, data):
    """The bytes of a real program with some bits flipped: protobuf still parses many of them."""
    good = graph_to_def(load(name).graph).SerializeToString(deterministic=True)
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 5))):
        bad[data.draw(st.integers(0, len(bad) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with reads_or_raises_one_line():
        read_everything(tfport.load(bytes(bad)))
