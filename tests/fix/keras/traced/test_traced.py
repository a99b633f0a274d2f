"""Subclassed models, custom layers and graphs become functional Keras models by what was traced."""

import json
import zipfile

import numpy as np
import pytest
from tests.fix.rule_cases import RuleCase
from tests.recorded_models import path_of
from tests.truth_models import TRUTH, model_folder

import tfport

KERAS_3, KERAS_2 = "keras==3.15.1", "tensorflow==2.15.1"


def saved(name):
    return model_folder(f"tests/truth/keras/{name}")


def fixed(path, target=KERAS_3, **options):
    return tfport.fix(path, on=target, output="model.keras" if target == KERAS_3 else "model.h5", **options)


def layers_of(result, path):
    result.save(path)
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("config.json"))["config"]["layers"]


def rules(result):
    return {rule["name"] for rule in result.to_json()["rules"]}


@pytest.mark.parametrize("target", [KERAS_3, KERAS_2])
@pytest.mark.parametrize(
    "name",
    ["subclassed-2.3.4", "subclassed_adam-2.13.1", "custom_layer_with_config-2.8.4", "lambda_layer-2.3.4",
     "lambda_layer-2.11.1"],
)  # fmt: skip
def test_a_traced_call_becomes_a_functional_model(name, target):
    result = fixed(saved(name), target)
    assert result.ok, result.remaining
    assert "traced calls" in rules(result)
    assert "constants" not in rules(result)


def test_a_subclassed_model_has_its_layers(tmp_path):
    layers = layers_of(fixed(saved("subclassed-2.3.4")), tmp_path / "model.keras")
    assert {layer["class_name"] for layer in layers} >= {"InputLayer", "Dense"}


def test_a_lambda_becomes_a_model_of_its_name(tmp_path):
    layers = layers_of(fixed(saved("lambda_layer-2.11.1")), tmp_path / "model.keras")
    assert ("lambda", "Functional") in {(layer["config"]["name"], layer["class_name"]) for layer in layers}


def test_a_node_of_tensorflow_becomes_an_operation():
    result = fixed(saved("operators-2.3.4"))
    assert result.ok, result.remaining


@pytest.mark.parametrize(
    "name",
    ["custom_layer-2.6.5", "module-2.0.4", "exported-2.16.2", "simple_save-1.15.5", "hub_module_v1-1.15.5"],
)
def test_as_graph_writes_what_no_layer_has(name):
    result = fixed(saved(name), as_graph=True)
    assert result.ok, result.remaining


def test_weights_of_no_layer_are_constants_and_the_certificate_says_so():
    result = fixed(saved("custom_layer-2.6.5"), as_graph=True)
    assert {"traced calls", "constants"} <= rules(result)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("module_with_table-2.8.4", "HashTableV2.*no layer and no operation of Keras computes it"),
        ("exported_lstm-2.16.2", "While"),
    ],
)
def test_what_keras_cannot_compute_is_refused_by_name(name, why):
    with pytest.raises(tfport.Error, match=why):
        fixed(saved(name), as_graph=True)


def test_the_certificate_of_a_frozen_graph_can_be_verified(tmp_path):
    path = tmp_path / "model.keras"
    fixed(path_of("frozen"), as_graph=True).save(path)
    assert tfport.verify_certificate(f"{path}.certificate.json").ok


# Ops of a graph as layers and operations


def f32(*shape):
    return np.linspace(-1.5, 2, int(np.prod(shape)), dtype="f4").reshape(shape)


def case(text, layer, constants="", **arrays):
    return pytest.param(
        RuleCase(None, text, arrays, ["y:0"], constants=constants.split()), layer, id=text[:70]
    )


IMAGE = f32(2, 5, 6, 3)
CASES = [
    case("y = MatMul(x, w) {T=float32}", "Dense", "w", x=f32(2, 3), w=f32(3, 4)),
    case("y = MatMul(x, w) {T=float32, transpose_b=true}", "Dense", "w", x=f32(2, 3), w=f32(4, 3)),
    case(
        "m = MatMul(x, w) {T=float32}\ny = BiasAdd(m, b) {T=float32}",
        "Dense",
        "w b",
        x=f32(2, 3),
        w=f32(3, 4),
        b=f32(4),
    ),
    case(
        "m = MatMul(x, w) {T=float32}\ny = AddV2(b, m) {T=float32}",
        "Dense",
        "w b",
        x=f32(2, 3),
        w=f32(3, 4),
        b=f32(4),
    ),
    case(
        "m = MatMul(x, w) {T=float32}\nn = AddV2(m, b) {T=float32}\ny = Mul(n, m) {T=float32}",
        "Add",
        "w b",
        x=f32(2, 3),
        w=f32(3, 4),
        b=f32(4),
    ),
    case("y = BatchMatMulV2(x, z) {T=float32, adj_y=true}", "Matmul", x=f32(2, 3, 4), z=f32(2, 5, 4)),
    case(
        "y = Conv2D(x, w) {T=float32, strides=[1, 2, 1, 1], padding=SAME}",
        "Conv2D",
        "w",
        x=IMAGE,
        w=f32(3, 3, 3, 4),
    ),
    case(
        "y = Conv2D(x, w) {T=float32, strides=[1, 1, 1, 1], dilations=[1, 2, 2, 1], padding=VALID}",
        "Conv2D",
        "w",
        x=IMAGE,
        w=f32(2, 2, 3, 4),
    ),
    case(
        "y = DepthwiseConv2dNative(x, w) {T=float32, strides=[1, 1, 1, 1], padding=SAME}",
        "DepthwiseConv2D",
        "w",
        x=IMAGE,
        w=f32(3, 3, 3, 2),
    ),
    case(
        "y = FusedBatchNormV3(x, a, b, m, v) {T=float32, U=float32, epsilon=0.01, is_training=false}",
        "BatchNormalization",
        "a b m v",
        x=IMAGE,
        a=f32(3),
        b=f32(3),
        m=f32(3),
        v=f32(3) + 2,
    ),
    case(
        "y = MaxPool(x) {T=float32, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding=SAME}",
        "MaxPooling2D",
        x=IMAGE,
    ),
    case(
        "y = AvgPool(x) {T=float32, ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding=SAME}",
        "AveragePooling2D",
        x=IMAGE,
    ),
    case(
        "y = Pad(x, p) {T=float32}",
        "ZeroPadding2D",
        "p",
        x=IMAGE,
        p=np.int32([[0, 0], [1, 2], [0, 1], [0, 0]]),
    ),
    case(
        "y = GatherV2(w, x, a) {Tparams=float32, Tindices=int32, Taxis=int32}",
        "Embedding",
        "w a",
        x=np.int32([[0, 3], [1, 2]]),
        w=f32(4, 3),
        a=np.int32(0),
    ),
    case("y = Mul(x, c) {T=float32}", "Multiply", "c", x=f32(2, 3), c=f32(3)),
    case("y = Sub(c, x) {T=float32}", "Subtract", "c", x=f32(2, 3), c=np.float32(1.5)),
    case("y = SquaredDifference(x, z) {T=float32}", "Square", x=f32(2, 3), z=f32(2, 3) * 2),
    case(
        "y = Mean(x, a) {T=float32, Tidx=int32, keep_dims=true}",
        "Mean",
        "a",
        x=f32(2, 3, 4),
        a=np.int32([1, 2]),
    ),
    case("y = Reshape(x, s) {T=float32, Tshape=int32}", "Reshape", "s", x=f32(2, 6), s=np.int32([-1, 3, 2])),
    case(
        "y = Transpose(x, p) {T=float32, Tperm=int32}",
        "Transpose",
        "p",
        x=f32(2, 3, 4),
        p=np.int32([0, 2, 1]),
    ),
    case(
        "y = ConcatV2(x, z, a) {T=float32, N=2, Tidx=int32}",
        "Concatenate",
        "a",
        x=f32(2, 3),
        z=f32(2, 2),
        a=np.int32(-1),
    ),
    case(
        "y = StridedSlice(x, b, e, s) {T=float32, Index=int32, begin_mask=1, end_mask=1, shrink_axis_mask=2}",
        "GetItem",
        "b e s",
        x=f32(2, 3, 4),
        b=np.int32([0, 1, 0]),
        e=np.int32([0, 2, 3]),
        s=np.int32([1, 1, 2]),
    ),
    case("y = LeakyRelu(x) {T=float32}", "LeakyRelu", x=f32(2, 3)),
    case("y = Elu(x) {T=float32}", "Activation", x=f32(2, 3)),
    case(
        "c = Greater(x, z) {T=float32}\ny = SelectV2(c, x, z) {T=float32}",
        "Where",
        x=f32(2, 3),
        z=f32(2, 3)[::-1],
    ),
]


@pytest.mark.parametrize(("c", "layer"), CASES)
def test_an_op_becomes_a_layer_or_operation_with_the_same_answers(c, layer, tmp_path):
    result = tfport.fix(c.model(), on=KERAS_3, output="model.keras", as_graph=True)
    assert result.ok, result.remaining
    assert layer in {entry["class_name"] for entry in layers_of(result, tmp_path / "model.keras")}


def test_another_op_is_refused_by_name():
    c = RuleCase(None, "y = Betainc(x, x, x) {T=float32}", {"x": f32(2, 3)}, ["y:0"])
    with pytest.raises(tfport.Error, match=r"node `y` \(Betainc\): no layer and no operation of Keras"):
        tfport.fix(c.model(), on=KERAS_3, output="model.keras", as_graph=True)


def test_no_file_of_the_record_is_wrong_in_a_real_release():
    record = json.loads((TRUTH / "keras_traced.json").read_text())
    rows = [row for part in record.values() for row in part["models"]]
    assert {row["outcome"] for row in rows} <= {"equal", "refused", "no reference"}
    assert all(row["why"] for row in rows if row["outcome"] == "refused")
