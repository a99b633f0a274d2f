"""Container images as targets, by their names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfport.atlas.containers.images import image_packages, parse_image
from tfport.atlas.environment import read_environment
from tfport.atlas.resolve.targets import resolve_targets
from tfport.errors import Error

AWS = "763104351884.dkr.ecr.us-east-1.amazonaws.com"
TARGETS = [  # image                                             target                    device
    ("tensorflow/serving:2.8.0",                                 "tensorflow-serving 2.8.0", "cpu"),
    ("tensorflow/serving:2.8.0-gpu",                             "tensorflow-serving 2.8.0", "gpu"),
    ("bitnami/tensorflow-serving:2.8.0",                         "tensorflow-serving 2.8.0", "cpu"),
    ("tensorflow/tensorflow:2.4.1",                              "tensorflow 2.4.1",       "cpu"),
    ("tensorflow/tensorflow:2.4.1-gpu",                          "tensorflow 2.4.1",       "gpu"),
    ("tensorflow/tensorflow:2.4.1-gpu-jupyter",                  "tensorflow 2.4.1",       "gpu"),
    ("tensorflow/tensorflow:1.15.5-py3",                         "tensorflow 1.15.5",      "cpu"),
    ("tensorflow/tensorflow:1.15.5-gpu-py3-jupyter",             "tensorflow-gpu 1.15.5",  "gpu"),
    ("docker.io/tensorflow/tensorflow:2.15.0",                   "tensorflow 2.15.0",      "cpu"),
    ("tensorflow/tensorflow:2.15.0@sha256:" + "a" * 64,          "tensorflow 2.15.0",      "cpu"),
    (f"{AWS}/tensorflow-training:2.8.0-gpu-py39-cu112-ubuntu20.04-e3", "tensorflow 2.8.0", "gpu"),
    (f"{AWS}/tensorflow-inference:2.8.0-cpu",                    "tensorflow-serving 2.8.0", "cpu"),
    ("gcr.io/deeplearning-platform-release/tf2-gpu.2-8.py310",   "tensorflow 2.8.4",       "gpu"),
]  # fmt: skip


@pytest.mark.parametrize(("image", "name", "device"), TARGETS, ids=[row[0] for row in TARGETS])
def test_an_image_is_a_target(image, name, device):
    (target,) = resolve_targets(image)
    assert (target.name, target.device) == (name, device)


UNKNOWN = [
    ("tensorflow/tensorflow", "its tag does not name a release"),
    ("tensorflow/tensorflow:latest-gpu", "its tag does not name a release"),
    ("tensorflow/serving:nightly", "its tag does not name a release"),
    ("tensorflow/tensorflow:2.4.1-devel", "an image with `devel` in its tag has none"),
    ("nvcr.io/nvidia/tensorflow:23.03-tf2-py3", "NVIDIA builds its own TensorFlow"),
    ("rocm/tensorflow:latest", "AMD's images are named after ROCm"),
]


@pytest.mark.parametrize(("image", "why"), UNKNOWN, ids=[row[0] for row in UNKNOWN])
def test_an_image_without_a_release_is_unknown(image, why):
    with pytest.raises(Error, match=rf"the TensorFlow of {image}\S* is unknown: {why}.*; `docker run "):
        resolve_targets(image)
    assert why in read_environment(image).unknown


def test_an_image_that_is_not_known_is_not_downloaded():
    with pytest.raises(Error, match=r"my/model:1.2: no such file .* tfport does not download it"):
        resolve_targets("my/model:1.2")


def test_tags_name_python_and_cuda():
    assert image_packages("python:3.8-slim").python == "3.8"
    assert image_packages("nvidia/cuda:11.2.2-cudnn8-runtime-ubuntu20.04").cuda == {
        "cudart": "11.2.2", "cudnn": "8"
    }  # fmt: skip
    training = image_packages(f"{AWS}/tensorflow-training:2.8.0-gpu-py39-cu112-ubuntu20.04-e3")
    assert (training.python, training.cuda) == ("3.9", {"cudart": "11.2"})


def test_a_file_of_the_same_name_takes_precedence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow/serving").write_text("tensorflow==2.4.1\n")
    assert resolve_targets("tensorflow/serving")[0].name == "tensorflow 2.4.1"


@given(st.one_of(st.text(max_size=80), st.from_regex(r"[a-z./:@-]{0,40}:[\w.-]{0,40}", fullmatch=True)))
def test_any_text_is_an_image_or_not(text):
    assert parse_image(text) is not None or not image_packages(text).wanted
    assert _read_or_refused(f"tensorflow/tensorflow:{text}")


def _read_or_refused(text):
    """Whether a text gives an environment, or an error of one sentence."""
    try:
        return read_environment(text) is not None
    except Error as error:
        return "\n" not in str(error)
