"""What releases of Keras accept, and which texts of targets name them."""

import pytest

from tfport.atlas.keras_releases import keras_of_tensorflow, keras_releases
from tfport.atlas.resolve.targets import resolve_targets
from tfport.errors import Error

FACTS = [  # release, kind, name, an argument, whether it takes it
    ("keras 3.15.1", "layer", "Dense", "quantization_config", True),
    ("keras 3.0.5", "layer", "Dense", "lora_rank", True),
    ("keras 3.0.0", "layer", "Dense", "lora_rank", False),
    ("keras 3.15.1", "inner layer", "TFDConcat", "axis", True),
    ("keras 3.15.1", "layer", "LSTM", "time_major", False),
    ("keras 2.15.0", "layer", "LSTM", "time_major", True),
    ("keras 2.15.0", "initializer", "glorot_uniform", "seed", True),
    ("tensorflow 1.13.2", "initializer", "GlorotUniform", "dtype", True),
    ("tensorflow 2.4.4", "layer", "DepthwiseConv2D", "groups", True),
    ("keras 1.2.2", "layer", "Dense", "output_dim", True),
    ("keras 2.2.4", "layer", "Dense", "units", True),
    ("keras-core 0.1.7", "layer", "GroupNormalization", "groups", True),
    ("keras 2.3.1", "layer", "SeparableConv2D", "rank", False),
    ("keras 2.3.1", "layer", "GRU", "cell", False),
    ("tensorflow 2.4.4", "layer", "LSTMCell", "trainable", True),
]
CLASSES = [  # release, kind, name, whether it is there
    ("keras 2.15.0", "layer", "CuDNNGRU", True),
    ("keras 3.15.1", "layer", "CuDNNGRU", False),
    ("tensorflow 2.2.3", "layer", "Functional", False),
    ("tensorflow 2.3.4", "layer", "Functional", True),
    ("keras 3.15.1", "activation", "swish", True),
    ("keras 2.2.4", "activation", "swish", False),
    ("keras 3.0.5", "initializer", "Orthogonal", False),
    ("keras 3.15.1", "initializer", "Orthogonal", True),
    ("keras 1.2.2", "layer", "Highway", True),
]
IMPLIED = [
    ("1.4.1", "the Keras of tensorflow 1.4.1"), ("1.15.0", "the Keras of tensorflow 1.15.5"),
    ("2.5.0", "the Keras of tensorflow 2.5.3"), ("2.6.5", "keras 2.6.0"), ("2.13.0", "keras 2.13.1"),
    ("2.15.1", "keras 2.15.0"), ("2.16.1", "keras 3.15.1"),
]  # fmt: skip
TARGETS = [  # text, names, Keras of the first
    ("keras==3.15.1", ["keras 3.15.1"], "keras 3.15.1"),
    ("keras>=3.14,<3.15", ["keras 3.14.0", "keras 3.14.1"], "keras 3.14.0"),
    ("tf-keras==2.16", ["tf-keras 2.16.0"], "tf-keras 2.16.0"),
    ("keras-core==0.1.7", ["keras-core 0.1.7"], "keras-core 0.1.7"),
    ("keras==2.4.3", ["keras 2.4.3"], "the Keras of tensorflow 2.4.4"),
    ("tensorflow==2.8.4", ["tensorflow 2.8.4"], "keras 2.8.0"),
    ("tensorflow==1.15.5 keras==2.3.1", ["tensorflow 1.15.5 + keras 2.3.1"], "keras 2.3.1"),
    ("tensorflow==2.16.1 tf-keras==2.16.0", ["tensorflow 2.16.1 + tf-keras 2.16.0"], "tf-keras 2.16.0"),
]


def release(name):
    package, version = name.split(" ")
    (found,) = [known for known in keras_releases(package) if known.version == version]
    return found


@pytest.mark.parametrize(("name", "kind", "class_name", "argument", "takes"), FACTS)
def test_a_class_takes_the_arguments_of_its_release(name, kind, class_name, argument, takes):
    assert (argument in release(name).find(kind, class_name).arguments) is takes


@pytest.mark.parametrize(("name", "kind", "class_name", "is_there"), CLASSES)
def test_a_release_has_its_classes(name, kind, class_name, is_there):
    assert (release(name).find(kind, class_name) is not None) is is_there


def test_keras_2_accepts_the_arguments_of_keras_1():
    assert release("keras 2.2.4").find("layer", "Dense").earlier["output_dim"] == "units"
    convolution = release("keras 2.3.1").find("layer", "Conv2D")
    assert convolution.earlier["nb_row"] == convolution.earlier["nb_col"] == "kernel_size"
    assert release("keras 2.3.1").find("layer", "Embedding").earlier["dropout"] == ""


def test_keras_1_checks_unknown_arguments():
    assert release("keras 1.2.2").find("layer", "Dense").rest == "checked"


def test_public_names_and_modules_are_those_of_the_release():
    newest = release("keras 3.15.1")
    assert newest.exports["keras.layers.Dense"].module == "keras.src.layers.core.dense"
    assert newest.has_module("keras.src.models.functional")
    assert not newest.has_module("keras.src.engine.functional")
    assert release("keras 2.15.0").has_module("keras.src.engine.functional")


@pytest.mark.parametrize(("tensorflow", "name"), IMPLIED)
def test_a_tensorflow_implies_its_keras(tensorflow, name):
    assert keras_of_tensorflow(tensorflow).name == name


def test_a_tensorflow_before_tf_keras_has_none():
    assert keras_of_tensorflow("1.3.0") is None


def test_an_inner_layer_has_no_public_name():
    newest = release("keras 3.15.1")
    assert newest.find("layer", "TFDConcat") is None
    assert newest.find("inner layer", "TFDConcat").kind == "layer"


def test_every_package_is_recorded():
    assert [len(keras_releases(p)) for p in ("keras", "tf-keras", "keras-core")] >= [94, 10, 8]


@pytest.mark.parametrize(("text", "names", "keras"), TARGETS)
def test_a_text_names_a_keras(text, names, keras):
    targets = resolve_targets(text)
    assert [target.name for target in targets] == names
    assert targets[0].keras.name == keras


def test_a_requirements_file_lists_its_keras(tmp_path):
    listed = tmp_path / "requirements.txt"
    listed.write_text("tensorflow==1.14.0\nKeras==2.2.4\n")
    (target,) = resolve_targets(str(listed))
    assert (target.name, target.keras.name) == ("tensorflow 1.14.0", "keras 2.2.4")
    listed.write_text("keras>=3,<3.6\njax\n")
    (target,) = resolve_targets(str(listed))
    assert target.name == "keras 3.5.0"
    listed.write_text("tensorflow==2.17.0\ntf-keras==2.17.0\n")
    (target,) = resolve_targets(str(listed))
    assert target.keras.name == "keras 3.15.1"
    assert "TF_USE_LEGACY_KERAS=1" in target.keras_notes[0]


def test_an_unknown_release_is_an_error():
    with pytest.raises(Error) as raised:
        resolve_targets("keras==9.9")
    assert str(raised.value) == "keras 9.9 is not recorded; nearest: 3.15.1; recorded: 0.3.0 to 3.15.1"
