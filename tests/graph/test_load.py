import shutil
from pathlib import Path

import pytest
from tests.recorded_models import load, path_of, shared

import tfport
from tfport.errors import UnreadableFile
from tfport.formats.checkpoint.signature import CHECKPOINT
from tfport.formats.graph_def.signature import GRAPH_DEF, META_GRAPH
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.dtypes import DType
from tfport.graph.model import TensorSpec, tensor_spec
from tfport.graph.shapes import UNKNOWN, Shape

KINDS = [
    ("module", SAVED_MODEL),
    ("legacy_init", SAVED_MODEL),
    ("ref_variables", META_GRAPH),
    ("frozen", GRAPH_DEF),
    ("frozen_text", GRAPH_DEF),
    ("large_index", CHECKPOINT),
]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_each_kind_of_file_becomes_a_model(name, kind):
    model = shared(name)
    assert model.format is kind
    assert bool(len(model.graph)) == (kind is not CHECKPOINT)


def test_text_and_binary_are_the_same_graph():
    assert [str(n) for n in shared("frozen").graph] == [str(n) for n in shared("frozen_text").graph]


def test_bytes_and_an_open_file_will_do():
    with open(path_of("frozen"), "rb") as file:
        opened = tfport.load(file)
    given = tfport.load(Path(path_of("frozen")).read_bytes())
    assert len(opened.graph) == len(given.graph) == len(shared("frozen").graph)


def test_the_metagraph_for_serving_is_the_default():
    assert shared("estimator").tags == ("serve",)
    assert shared("estimator").tag_sets == [("serve",), ("cpu", "train")]


@pytest.mark.parametrize("tags", [["cpu", "train"], ("train", "cpu"), {"train", "cpu"}])
def test_tags_choose_a_metagraph_in_any_order(tags):
    assert tfport.load(path_of("estimator"), tags=tags).tags == ("cpu", "train")


def test_one_tag_may_be_a_word():
    assert tfport.load(path_of("estimator"), tags="serve").tags == ("serve",)


def test_tags_that_no_metagraph_has_are_told_with_those_there_are():
    with pytest.raises(UnreadableFile) as refused:
        tfport.load(path_of("estimator"), tags=["gpu", "serve"])
    assert str(refused.value).endswith(
        "no MetaGraph has the tags {gpu, serve}; there is {serve} and {cpu, train}"
    )


def test_of_numbered_versions_the_newest_is_meant():
    assert shared("numbered_versions").where.endswith("10")


def test_a_metagraph_under_another_name_has_no_checkpoint(tmp_path):
    shutil.copy(path_of("ref_variables"), tmp_path / "graph.pb")
    model = tfport.load(str(tmp_path / "graph.pb"))
    assert model.format is META_GRAPH
    assert model.checkpoint is None


def test_a_checkpoint_that_is_not_there_is_none(tmp_path):
    shutil.copy(path_of("ref_variables"), tmp_path / "model.meta")
    assert tfport.load(str(tmp_path / "model.meta")).checkpoint is None


def test_the_graph_is_told_apart_from_what_stands_beside_it():
    model = shared("module")
    assert not model.meta.HasField("graph_def")
    assert model.meta.object_graph_def.nodes


def info(**fields: object) -> pb.TensorInfo:
    return pb.TensorInfo(dtype=graph_pb2.DT_FLOAT, **fields)


FLOAT = DType.parse("float32")
SPECS = [
    (info(name="x:0", tensor_shape={"dim": [{"size": -1}]}), TensorSpec(("x:0",), FLOAT, Shape((None,)))),
    (info(name="x:0"), TensorSpec(("x:0",), FLOAT, UNKNOWN)),
    (
        info(
            coo_sparse={
                "values_tensor_name": "v:0",
                "indices_tensor_name": "i:0",
                "dense_shape_tensor_name": "s:0",
            }
        ),
        TensorSpec(("v:0", "i:0", "s:0"), FLOAT, UNKNOWN, "sparse"),
    ),
    (
        info(
            composite_tensor={
                "type_spec": {"type_spec_class": "RAGGED_TENSOR_SPEC"},
                "components": [{"name": "a:0"}, {"name": "b:0"}],
            }
        ),
        TensorSpec(("a:0", "b:0"), FLOAT, UNKNOWN, "ragged"),
    ),
    (
        info(
            composite_tensor={
                "type_spec": {"type_spec_class": 99, "type_spec_class_name": ""},
                "components": [
                    {"composite_tensor": {"components": [{"name": "a:0"}]}},
                    {"coo_sparse": {"values_tensor_name": "v:0"}},
                ],
            }
        ),
        TensorSpec(("a:0", "v:0", "", ""), FLOAT, UNKNOWN, "type 99"),
    ),
    (
        info(composite_tensor={"type_spec": {"type_spec_class_name": "MaskedTensorSpec"}}),
        TensorSpec((), FLOAT, UNKNOWN, "MaskedTensor"),
    ),
]


@pytest.mark.parametrize(("proto", "spec"), SPECS)
def test_a_tensor_of_a_signature_is_dense_sparse_or_made_of_parts(proto, spec):
    assert tensor_spec(proto) == spec


def test_defaults_of_arguments_are_told():
    signature = shared("default_arguments").signatures["serving_default"]
    assert list(signature.defaults) == ["by"]
    assert signature.defaults["by"].numpy().shape == (2,)


NO_TENSORS = ["", "nobody:0", "x:99999999999", "x:-1", "x:1", "x:\u0663", "x:" + "9" * 5000, "x:0:0"]


@pytest.mark.parametrize("name", NO_TENSORS, ids=lambda n: n[:14])
def test_a_signature_may_name_what_is_not_there(name):
    model = load("frozen")
    inputs = [n.name for n in model.graph if n.op == "Placeholder"]
    named = name.replace("x", inputs[0], 1)
    assert not model.has_tensor(named)
    model.meta.signature_def["s"].outputs["y"].name = named
    assert model.ends_of(model.signatures["s"]) == []
    assert model.has_tensor(inputs[0] + ":0")
