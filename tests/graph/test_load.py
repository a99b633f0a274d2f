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

FORMATS = [
    ("module", SAVED_MODEL),
    ("legacy_init", SAVED_MODEL),
    ("ref_variables", META_GRAPH),
    ("frozen", GRAPH_DEF),
    ("frozen_text", GRAPH_DEF),
    ("large_index", CHECKPOINT),
]


@pytest.mark.parametrize(("name", "format_"), FORMATS)
def test_each_format_becomes_a_model(name, format_):
    model = shared(name)
    assert model.format is format_
    assert bool(len(model.graph)) == (format_ is not CHECKPOINT)


def test_text_and_binary_are_the_same_graph():
    assert [str(n) for n in shared("frozen").graph] == [str(n) for n in shared("frozen_text").graph]


def test_bytes_and_an_open_file_are_accepted():
    with open(path_of("frozen"), "rb") as file:
        opened = tfport.load(file)
    from_bytes = tfport.load(Path(path_of("frozen")).read_bytes())
    assert len(opened.graph) == len(from_bytes.graph) == len(shared("frozen").graph)


def test_the_metagraph_for_serving_is_the_default():
    assert shared("estimator").tags == ("serve",)
    assert shared("estimator").tag_sets == [("serve",), ("cpu", "train")]


@pytest.mark.parametrize("tags", [["cpu", "train"], ("train", "cpu"), {"train", "cpu"}])
def test_tags_choose_a_metagraph_in_any_order(tags):
    assert tfport.load(path_of("estimator"), tags=tags).tags == ("cpu", "train")


def test_one_tag_may_be_a_string():
    assert tfport.load(path_of("estimator"), tags="serve").tags == ("serve",)


def test_the_error_for_unknown_tags_lists_the_existing_ones():
    with pytest.raises(UnreadableFile) as refused:
        tfport.load(path_of("estimator"), tags=["gpu", "serve"])
    assert str(refused.value).endswith(
        "no MetaGraph has the tags {gpu, serve}; expected {serve} and {cpu, train}"
    )


def test_the_newest_numbered_version_is_loaded():
    assert shared("numbered_versions").where.endswith("10")


def test_a_metagraph_under_another_name_has_no_checkpoint(tmp_path):
    shutil.copy(path_of("ref_variables"), tmp_path / "graph.pb")
    model = tfport.load(str(tmp_path / "graph.pb"))
    assert model.format is META_GRAPH
    assert model.checkpoint is None


def test_a_missing_checkpoint_is_none(tmp_path):
    shutil.copy(path_of("ref_variables"), tmp_path / "model.meta")
    assert tfport.load(str(tmp_path / "model.meta")).checkpoint is None


def test_the_metagraph_does_not_repeat_the_graph():
    model = shared("module")
    assert not model.meta.HasField("graph_def")
    assert model.meta.object_graph_def.nodes


def info(**fields: object) -> pb.TensorInfo:
    return pb.TensorInfo(**{"dtype": graph_pb2.DT_FLOAT} | fields)


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
            dtype=0,
            composite_tensor={
                "type_spec": {
                    "type_spec_class": "RAGGED_TENSOR_SPEC",
                    "type_state": {
                        "tuple_value": {
                            "values": [
                                {"tensor_shape_value": {"dim": [{"size": -1}, {"size": 2}]}},
                                {"tensor_dtype_value": "DT_FLOAT"},
                                {"int64_value": 1},
                                {"tensor_dtype_value": "DT_INT64"},
                            ]
                        }
                    },
                },
                "components": [{"name": "a:0"}, {"name": "b:0"}],
            },
        ),
        TensorSpec(("a:0", "b:0"), FLOAT, Shape((None, 2)), "ragged"),
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
def test_a_tensor_of_a_signature_is_dense_sparse_or_composite(proto, spec):
    assert tensor_spec(proto) == spec


def test_defaults_of_arguments_are_read():
    signature = shared("default_arguments").signatures["serving_default"]
    assert list(signature.defaults) == ["by"]
    assert signature.defaults["by"].numpy().shape == (2,)


NO_TENSORS = ["", "nobody:0", "x:99999999999", "x:-1", "x:1", "x:\u0663", "x:" + "9" * 5000, "x:0:0"]


@pytest.mark.parametrize("name", NO_TENSORS, ids=lambda n: n[:14])
def test_a_signature_may_refer_to_missing_tensors(name):
    model = load("frozen")
    inputs = [n.name for n in model.graph if n.op == "Placeholder"]
    named = name.replace("x", inputs[0], 1)
    assert not model.has_tensor(named)
    model.meta.signature_def["s"].outputs["y"].name = named
    assert model.ends_of(model.signatures["s"]) == []
    assert model.has_tensor(inputs[0] + ":0")
