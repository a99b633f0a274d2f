"""TensorFlow.js graph models: weights become the values of constants, wherever the constants are."""

import base64
import json

import numpy as np
import pytest

import tfport
from tfport.errors import UnreadableFile
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.reach import needed_by

F4 = np.float32
X = {
    "name": "x",
    "op": "Placeholder",
    "attr": {"dtype": {"type": "DT_FLOAT"}, "shape": {"shape": {"dim": [{"size": "2"}]}}},
}
FLOATS = {"T": {"type": "DT_FLOAT"}}


def const(name, dtype="DT_FLOAT", shape=(2,), **values):
    """A constant as the converter writes it: with a type and a shape, and its values removed."""
    dims = {"dim": [{"size": str(n)} for n in shape]}
    tensor = {"dtype": dtype, "tensorShape": dims, **values}
    return {"name": name, "op": "Const", "attr": {"dtype": {"type": dtype}, "value": {"tensor": tensor}}}


def weight(name, array, **more):
    return {"name": name, "shape": list(array.shape), "dtype": array.dtype.name, **more}


def write(folder, nodes, weights, *, library=None, data=None, **more):
    """Write a model.json with its weights in one shard."""
    data = b"".join(array.tobytes() for _, array in weights) if data is None else data
    manifest = [{"paths": ["group1-shard1of1.bin"], "weights": [weight(*pair) for pair in weights]}]
    topology = {"node": nodes, "versions": {"producer": 561}} | ({"library": library} if library else {})
    model = {"format": "graph-model", "modelTopology": topology, "weightsManifest": manifest, **more}
    (folder / "model.json").write_text(json.dumps(model))
    (folder / "group1-shard1of1.bin").write_bytes(data)
    return folder


def answer(folder, fetch="y:0", **feeds):
    session = tfport.Session(tfport.load(folder))
    return session.run([fetch], {f"{name}:0": value for name, value in feeds.items()})[0]


def argument(name, dtype="DT_FLOAT"):
    return {"name": name, "type": dtype}


def function(name, inputs, outputs, nodes, returned):
    signature = {"name": name, "inputArg": inputs, "outputArg": outputs}
    return {"signature": signature, "nodeDef": nodes, "ret": returned}


def loop():
    """Three times `x = x * scale` in control flow v2; the converter prefixes constants of functions."""
    state = [argument("i", "DT_INT32"), argument("v")]
    less = {
        "name": "less",
        "op": "Less",
        "input": ["i", "cond/limit:output:0"],
        "attr": {"T": {"type": "DT_INT32"}},
    }
    add = {
        "name": "add",
        "op": "AddV2",
        "input": ["i", "body/step:output:0"],
        "attr": {"T": {"type": "DT_INT32"}},
    }
    mul = {"name": "mul", "op": "Mul", "input": ["v", "body/scale:output:0"], "attr": FLOATS}
    cond = function(
        "cond",
        state,
        [argument("go", "DT_BOOL")],
        [const("cond/limit", "DT_INT32", ()), less],
        {"go": "less:z:0"},
    )
    body = function(
        "body",
        state,
        [argument("i_out", "DT_INT32"), argument("v_out")],
        [const("body/step", "DT_INT32", ()), const("body/scale"), add, mul],
        {"i_out": "add:z:0", "v_out": "mul:z:0"},
    )
    types = {"list": {"type": ["DT_INT32", "DT_FLOAT"]}}
    run = {
        "name": "loop",
        "op": "StatelessWhile",
        "input": ["zero", "x"],
        "attr": {"T": types, "cond": {"func": {"name": "cond"}}, "body": {"func": {"name": "body"}}},
    }
    y = {"name": "y", "op": "Identity", "input": ["loop:1"], "attr": FLOATS}
    return [X, const("zero", "DT_INT32", ()), run, y], {"function": [cond, body]}


LOOP_WEIGHTS = [
    ("zero", np.array(0, np.int32)),
    ("cond/limit", np.array(3, np.int32)),
    ("body/step", np.array(1, np.int32)),
    ("body/scale", np.array([2, 10], F4)),
]


def test_constants_of_functions_get_their_weights(tmp_path):
    nodes, library = loop()
    write(tmp_path, nodes, LOOP_WEIGHTS, library=library)
    assert answer(tmp_path, x=np.array([1, 1], F4)).tolist() == [8, 1000]


@pytest.mark.parametrize("name", [name for name, _ in LOOP_WEIGHTS[1:]])
def test_a_constant_of_a_function_without_weight_is_an_error(tmp_path, name):
    nodes, library = loop()
    write(tmp_path, nodes, [pair for pair in LOOP_WEIGHTS if pair[0] != name], library=library)
    with pytest.raises(UnreadableFile) as raised:
        tfport.load(tmp_path)
    assert str(raised.value) == (
        f"{tmp_path}/model.json: the weights manifest has no weight for the constant `{name}` of the "
        f"function `{name.partition('/')[0]}`; copy all files of the model again, or convert it again"
    )


def add_of(*names):
    return {"name": "y", "op": "AddV2", "input": list(names), "attr": FLOATS}


def test_a_constant_of_the_main_graph_without_weight_is_an_error(tmp_path):
    write(tmp_path, [X, const("c"), const("d"), add_of("x", "c")], [])
    with pytest.raises(UnreadableFile, match="has no weight for the constant `c` and 1 more; copy"):
        tfport.load(tmp_path)


def test_a_constant_keeps_a_value_in_the_graph(tmp_path):
    content = base64.b64encode(np.array([3, 4], F4).tobytes()).decode()
    nodes = [X, const("c", tensorContent=content), const("e", shape=(0,)), add_of("x", "c")]
    write(tmp_path, nodes, [])
    assert answer(tmp_path, x=np.array([1, 1], F4)).tolist() == [4, 5]


MISFITS = [  # the node, the weight, what the error says
    (const("c"), np.zeros(3, F4), "the weight `c` has the shape (3,), its node (2,)"),
    (const("c"), np.zeros((2, 1), F4), "the weight `c` has the shape (2, 1), its node (2,)"),
    (const("c"), np.zeros(2, np.int32), "the weight `c` is int32, its node float32"),
    (const("c", "DT_INT32"), np.zeros(2, F4), "the weight `c` is float32, its node int32"),
]


@pytest.mark.parametrize(("node", "array", "message"), MISFITS, ids=[m for *_, m in MISFITS])
def test_a_weight_must_fit_its_node(tmp_path, node, array, message):
    write(tmp_path, [X, node], [("c", array)])
    with pytest.raises(UnreadableFile) as raised:
        tfport.load(tmp_path)
    fix = "graph and weights belong to two models; convert the model again"
    assert str(raised.value) == f"{tmp_path}/model.json: {message}; {fix}"


NARROWED = [  # the type of the node, of its values, and of the weight
    ("DT_INT64", np.int64, np.int32),
    ("DT_INT8", np.int8, np.int32),
    ("DT_DOUBLE", np.float64, F4),
    ("DT_HALF", np.float16, F4),
    ("DT_COMPLEX128", np.complex128, np.complex64),
]


@pytest.mark.parametrize(("dtype", "kind", "stored"), NARROWED)
def test_a_weight_may_have_the_type_that_the_converter_stores(tmp_path, dtype, kind, stored):
    cast = {"name": "y", "op": "Identity", "input": ["c"], "attr": {"T": {"type": dtype}}}
    write(tmp_path, [const("c", dtype), cast], [("c", np.array([1, 2], stored))])
    (value,) = tfport.Session(tfport.load(tmp_path)).run(["y:0"], {})
    assert value.tolist() == [1, 2]
    assert value.dtype == kind


def test_the_last_weight_of_a_name_counts_as_in_tensorflow_js(tmp_path):
    weights = [("c", np.array([1, 2], F4)), ("c", np.array([3, 4], F4))]
    write(tmp_path, [X, const("c"), add_of("x", "c")], weights)
    assert answer(tmp_path, x=np.zeros(2, F4)).tolist() == [3, 4]


def test_weights_that_no_node_uses_are_ignored(tmp_path):
    weights = [("a", np.zeros(1, F4)), ("c", np.array([3, 4], F4)), ("z", np.zeros(1, F4))]
    write(tmp_path, [X, const("c"), add_of("x", "c")], weights)
    assert answer(tmp_path, x=np.zeros(2, F4)).tolist() == [3, 4]


def test_functions_of_the_initializer_belong_to_the_model(tmp_path):
    double = function(
        "double",
        [argument("v")],
        [argument("o")],
        [
            const("double/two", shape=()),
            {"name": "m", "op": "Mul", "input": ["v", "double/two:output:0"], "attr": FLOATS},
        ],
        {"o": "m:z:0"},
    )
    call = {
        "name": "call",
        "op": "PartitionedCall",
        "input": ["start"],
        "attr": {
            "Tin": {"list": {"type": ["DT_FLOAT"]}},
            "Tout": {"list": {"type": ["DT_FLOAT"]}},
            "f": {"func": {"name": "double"}},
        },
    }
    initializer = {"node": [const("start"), call], "library": {"function": [double]}}
    weights = [("start", np.array([1, 2], F4)), ("double/two", np.array(2, F4))]
    write(
        tmp_path,
        [X, {"name": "y", "op": "Identity", "input": ["x"], "attr": FLOATS}],
        weights,
        modelInitializer=initializer,
    )
    assert answer(tmp_path, fetch="call:0").tolist() == [2, 4]


RESOURCE = {"T": {"type": "DT_RESOURCE"}}
TYPES = {"key_dtype": {"type": "DT_INT32"}, "value_dtype": {"type": "DT_FLOAT"}}
LOOKUP = {"Tin": {"type": "DT_INT32"}, "Tout": {"type": "DT_FLOAT"}}


def table_model(folder):
    """A table that the initializer passes on; the graph and the initializer have nodes of the same name."""
    key = {"name": "key", "op": "Placeholder", "attr": {"dtype": {"type": "DT_INT32"}}}
    handle = {"name": "table", "op": "Placeholder", "attr": {"dtype": {"type": "DT_RESOURCE"}}}
    ready = {"name": "ready", "op": "NoOp", "input": ["^key", "^table"]}
    find = {"name": "find", "op": "LookupTableFindV2", "input": ["table", "key", "other"], "attr": LOOKUP}
    identity = {"name": "Identity", "op": "Identity", "input": ["find", "^ready"], "attr": FLOATS}
    made = {"name": "made", "op": "HashTableV2", "attr": TYPES | {"shared_name": {"s": "dA=="}}}
    fill = {"name": "fill", "op": "LookupTableImportV2", "input": ["made", "keys", "values"], "attr": LOOKUP}
    passed = {"name": "Identity", "op": "Identity", "input": ["made", "^fill"], "attr": RESOURCE}
    more = {"name": "Identity_1", "op": "Identity", "input": ["values"], "attr": FLOATS}
    shape = {"dtype": "DT_RESOURCE", "tensorShape": {}, "resourceId": 7}
    inputs = {"key": {"name": "key:0", "dtype": "DT_INT32"}, "table:0": {"name": "table:0", **shape}}
    outputs = {"y": {"name": "Identity:0", "dtype": "DT_FLOAT"}}
    return write(
        folder,
        [key, handle, const("other", shape=()), ready, find, identity],
        [("other", np.array(-1, F4)), ("keys", np.array([3, 4], np.int32)), ("values", np.array([5, 6], F4))],
        signature={"inputs": inputs, "outputs": outputs},
        modelInitializer={"node": [const("keys", "DT_INT32"), const("values"), made, fill, passed, more]},
        initializerSignature={"outputs": {"Identity:0": {"name": "Identity:0", **shape}}},
    )


def test_nodes_of_the_same_name_in_the_graph_and_its_initializer_are_two_nodes(tmp_path):
    model = tfport.load(table_model(tmp_path))
    call = tfport.Session(model).signature("serving_default")
    assert call(key=np.array([4, 9], np.int32))["y"].tolist() == [6, -1]


def test_what_tensorflow_loads_has_one_init_op_and_no_placeholder_of_a_resource(tmp_path):
    model = tfport.load(table_model(tmp_path))
    (init,) = model.init_nodes
    assert init.op == "NoOp"
    assert {node.name for node in init.controls} == {"Identity/initializer", "Identity_1"}
    assert not model.graph["table"].control_users


def test_a_call_does_not_fill_the_table_again(tmp_path):
    model = tfport.load(table_model(tmp_path))
    needed = {node.op for node in needed_by([model.graph["Identity"]])}
    assert "HashTableV2" in needed
    assert "LookupTableImportV2" not in needed


def old_pair(folder, weights, *nodes):
    """The files that converters before 1.0 wrote."""
    graph = pb.GraphDef(node=nodes, versions=pb.VersionDef(producer=26))
    (folder / "tensorflowjs_model.pb").write_bytes(graph.SerializeToString())
    manifest = [{"paths": ["group1-shard1of1"], "weights": [weight(*pair) for pair in weights]}]
    (folder / "weights_manifest.json").write_text(json.dumps(manifest))
    (folder / "group1-shard1of1").write_bytes(b"".join(array.tobytes() for _, array in weights))
    return folder


def old_nodes():
    float32 = pb.AttrValue(type=pb.DT_FLOAT)
    shape = pb.TensorShapeProto(dim=[pb.TensorShapeProto.Dim(size=2)])
    value = pb.AttrValue(tensor=pb.TensorProto(dtype=pb.DT_FLOAT, tensor_shape=shape))
    return [
        pb.NodeDef(name="x", op="Placeholder", attr={"dtype": float32, "shape": pb.AttrValue(shape=shape)}),
        pb.NodeDef(name="c", op="Const", attr={"dtype": float32, "value": value}),
        pb.NodeDef(name="y", op="Add", input=["x", "c"], attr={"T": float32}),
    ]


@pytest.mark.parametrize("name", ["", "tensorflowjs_model.pb", "weights_manifest.json"])
def test_the_old_pair_of_files_is_one_model(tmp_path, name):
    old_pair(tmp_path, [("c", np.array([3, 4], F4))], *old_nodes())
    model = tfport.load(tmp_path / name)
    assert model.format.name == "TensorFlow.js graph model"
    assert model.where == f"{tmp_path}/tensorflowjs_model.pb"
    assert answer(tmp_path / name, x=np.array([1, 1], F4)).tolist() == [4, 5]


def test_a_constant_of_the_old_pair_without_weight_is_an_error(tmp_path):
    old_pair(tmp_path, [], *old_nodes())
    with pytest.raises(UnreadableFile) as raised:
        tfport.load(tmp_path)
    assert str(raised.value).startswith(
        f"{tmp_path}/weights_manifest.json: the weights manifest has no weight for"
    )


def test_the_graph_of_the_old_pair_needs_its_manifest(tmp_path):
    old_pair(tmp_path, [("c", np.array([3, 4], F4))], *old_nodes())
    (tmp_path / "weights_manifest.json").unlink()
    with pytest.raises(UnreadableFile) as raised:
        tfport.load(tmp_path / "tensorflowjs_model.pb")
    assert str(raised.value) == (
        f"{tmp_path}/weights_manifest.json: missing; it lists the weights of {tmp_path}/tensorflowjs_model.pb"
    )


def test_a_signature_of_names_alone_gets_inputs_and_types_from_the_graph(tmp_path):
    """Old converters write only the names of outputs; TensorFlow.js takes the placeholders as inputs."""
    nodes = [X, {"name": "y", "op": "Neg", "input": ["x"], "attr": FLOATS}]
    signature = {"outputs": {"answer": {"name": "y:0"}}}
    write(tmp_path, nodes, [], userDefinedMetadata={"signature": signature})
    call = tfport.load(tmp_path).signatures["serving_default"]
    (x,), (y,) = call.inputs.values(), call.outputs.values()
    assert (list(call.inputs), x.tensors, str(x.dtype), x.shape.dims) == (["x"], ("x:0",), "float32", (2,))
    assert str(y.dtype) == "float32"
    run = tfport.Session(tfport.load(tmp_path)).signature("serving_default")
    np.testing.assert_array_equal(run(x=F4([1, 2]))["answer"], F4([-1, -2]))
