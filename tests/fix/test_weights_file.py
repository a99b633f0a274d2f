"""Files of weights have the names and the elements of the model, in the layout that was asked for."""

import h5py
import numpy as np
import pytest
from safetensors.numpy import load_file
from tests.frontends.keras.files import weights, write_h5
from tests.recorded_models import graph, load

import tfport
from tfport.cli.main import main
from tfport.fix.weights_file import weights_of, write_weights
from tfport.formats.files import MemoryFiles
from tfport.formats.graph_def.signature import GRAPH_DEF
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.model import Model


def stored(path):
    if path.suffix == ".safetensors":
        return load_file(path)
    if path.suffix == ".npz":
        with np.load(path) as file:
            return dict(file)
    with h5py.File(path) as file:
        arrays = {}
        file.visititems(lambda name, item: arrays.update({name: item[()]} if hasattr(item, "shape") else {}))
        return arrays


@pytest.mark.parametrize("name", ["w.safetensors", "w.npz", "weights.h5"])
def test_a_keras_file_has_its_weights_by_layer(tmp_path, name):
    model = tfport.load(write_h5(tmp_path / "m.h5"))
    write_weights(model, tmp_path / name, "tensorflow")
    expected = {key.removesuffix(":0"): a for layer in weights().values() for key, a in layer.items()}
    arrays = stored(tmp_path / name)
    assert arrays.keys() == expected.keys()
    for key, array in arrays.items():
        assert np.array_equal(array, expected[key])


def test_a_saved_model_has_the_variables_of_its_signatures():
    model = load("keras_functional")
    named = {weight.name: weight for weight in weights_of(model)}
    assert sorted(named) == [
        "conv/bias_1", "conv/kernel_1", "score/bias_1", "score/kernel_1", "words/embeddings_1",
    ]  # fmt: skip
    kernel = named["conv/kernel_1"]
    assert (kernel.array("tensorflow").shape, kernel.array("torch").shape) == ((3, 3, 1, 2), (2, 1, 3, 3))
    assert np.array_equal(named["words/embeddings_1"].array("torch"), named["words/embeddings_1"].read())


def test_a_checkpoint_without_a_graph_has_all_its_numbers():
    model = load("checkpoint_of_objects")
    numbers = [n for n in model.checkpoint.names() if model.checkpoint.read(n).dtype != object]
    assert len(weights_of(model)) == len(numbers) > 0


KERNELS = [
    ("MatMul(x, w) {T=float32}", (4, 3), (1, 0)),
    ("MatMul(x, w) {T=float32, transpose_b=true}", (3, 4), (0, 1)),
    ("Conv2D(x, w) {T=float32, strides=[1, 1, 1, 1], padding=SAME}", (3, 2, 4, 5), (3, 2, 0, 1)),
    ("Conv3D(x, w) {T=float32, strides=[1, 1, 1, 1, 1], padding=SAME}", (3, 2, 2, 4, 5), (4, 3, 0, 1, 2)),
]


@pytest.mark.parametrize(("reader", "shape", "order"), KERNELS)
def test_kernels_have_the_axes_of_torch(reader, shape, order):
    numbers = np.arange(np.prod(shape), dtype=np.float32)
    text = f"""
        x = Placeholder() {{dtype=float32}}
        w = Const() {{dtype=float32, value=float32({", ".join(map(str, shape))}){numbers.tolist()}}}
        y = {reader}
    """
    model = Model("m", GRAPH_DEF, MemoryFiles("m", {}), graph(text), pb.MetaGraphDef())
    (weight,) = weights_of(model)
    assert np.array_equal(weight.array("torch"), numbers.reshape(shape).transpose(order))


def test_a_depthwise_kernel_has_one_group_for_each_channel():
    numbers = np.arange(3 * 2 * 4 * 2, dtype=np.float32)
    text = f"""
        x = Placeholder() {{dtype=float32}}
        w = Const() {{dtype=float32, value=float32(3, 2, 4, 2){numbers.tolist()}}}
        y = DepthwiseConv2dNative(x, w) {{T=float32, strides=[1, 1, 1, 1], padding=SAME}}
    """
    model = Model("m", GRAPH_DEF, MemoryFiles("m", {}), graph(text), pb.MetaGraphDef())
    (weight,) = weights_of(model)
    kernel = numbers.reshape(3, 2, 4, 2)
    array = weight.array("torch")
    assert array.shape == (8, 1, 3, 2)
    assert all(np.array_equal(array[i * 2 + m, 0], kernel[:, :, i, m]) for i in range(4) for m in range(2))


def test_kernels_of_lite_files_have_the_axes_of_torch():
    named = {weight.name: weight for weight in weights_of(tfport.load("examples/wake_word.tflite"))}
    shapes = {name.split("/")[-2]: w.array("torch").shape for name, w in named.items() if "/" in name}
    assert shapes["conv2d_1"] == (16, 1, 10, 4)
    assert shapes["depthwise_conv2d_1"] == (16, 1, 3, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "model.h5"], "expected FILE.onnx"),
        (["-o", "saved", "--layout", "torch"], "--layout is for weights"),
        (["-o", "w.npz", "--signature", "serve"], "has no signatures and no target"),
    ],
)
def test_wrong_options_are_explained(tmp_path, monkeypatch, capsys, arguments, message):
    path = write_h5(tmp_path / "m.h5")
    monkeypatch.chdir(tmp_path)
    assert main(["export", path, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_command_says_what_it_wrote(tmp_path, capsys):
    path = write_h5(tmp_path / "m.h5")
    assert main(["export", path, "-o", str(tmp_path / "w.npz")]) == 0
    assert capsys.readouterr().out.endswith("4 arrays, 23 elements\n")
