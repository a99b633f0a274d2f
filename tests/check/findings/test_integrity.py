"""Every node that breaks a rule of graphs is found, among many that break none."""

import pytest
from google.protobuf import text_format
from tests.recorded_models import graph

from tfport.check.checked_model import CheckedModel
from tfport.check.findings.integrity import _graph
from tfport.formats.files import MemoryFiles
from tfport.formats.graph_def.signature import GRAPH_DEF
from tfport.formats.proto import graph_pb2 as pb
from tfport.formats.proto import saved_model_pb2
from tfport.graph.build import graph_from_def
from tfport.graph.model import Model

FINE = (
    'node {name:"x" op:"NoOp"} node {name:"c" op:"Const"} node {name:"i" op:"Identity" input:"c" input:"^x"}'
)


def found(text: str) -> list[tuple[str, str]]:
    program = graph_from_def(text_format.Parse(text, pb.GraphDef()), graph("").ops)
    model = Model("g", GRAPH_DEF, MemoryFiles("g", {}), program, saved_model_pb2.MetaGraphDef())
    return [(finding.code, str(finding.node)) for finding in _graph(CheckedModel(model, None))]


def test_a_graph_without_faults_has_no_findings():
    assert found(FINE) == []


@pytest.mark.parametrize(
    ("node", "code"),
    [
        ('node {name:"-y" op:"NoOp"}', "TFP013"),
        ('node {name:"y" op:"Identity" input:"lost"}', "TFP011"),
        ('node {name:"y" op:"Identity" input:"c:1"}', "TFP011"),
        ('node {name:"y" op:"Identity" input:"^x" input:"c"}', "TFP014"),
        ('node {name:"y" op:"Identity" input:"z"} node {name:"z" op:"Identity" input:"y"}', "TFP012"),
        ('node {name:"y" op:"NoOp" attr {key:"_class" value {list {s:"loc:@lost"}}}}', "TFP015"),
    ],
)
def test_the_node_with_a_fault_is_named(node, code):
    ((found_code, name),) = found(f"{FINE} {node}")
    assert (found_code, name.lstrip("-")) == (code, "y")


def test_a_node_may_come_before_what_it_reads():
    assert found('node {name:"i" op:"Identity" input:"c"} node {name:"c" op:"Const"}') == []


def test_a_cycle_through_a_control_input_is_found():
    """As in TensorFlow 2.21, which says: 2 nodes in a cycle."""
    nodes = 'node {name:"c" op:"Const" input:"^y"} node {name:"y" op:"Identity" input:"c"}'
    assert found(nodes) == [("TFP012", "c")]


def test_outputs_that_the_op_declares_can_be_read():
    pair = 'node {name:"t" op:"TopKV2" input:"c" input:"c"} node {name:"y" op:"Identity" input:"t:%d"}'
    assert found(f"{FINE} {pair % 1}") == []
    assert found(f"{FINE} {pair % 2}") == [("TFP011", "y")]


def test_outputs_of_an_unknown_op_are_not_counted():
    pair = 'node {name:"t" op:"NoSuchOp"} node {name:"y" op:"Identity" input:"t:7"}'
    assert found(f"{FINE} {pair}") == []


def test_a_node_of_a_function_is_found_too():
    body = (
        'library {function {signature {name:"f" output_arg {name:"r" type:DT_FLOAT}} '
        'node_def {name:"-y" op:"Const"} ret {key:"r" value:"-y:output:0"}}}'
    )
    assert found(f"{FINE} {body}") == [("TFP013", "-y")]
