"""The devices and the memory that flags choose."""

import pytest

from tfport.errors import Error
from tfport.serve.flags import FlagValues
from tfport.serve.gpus import device_names, gpu_options, memory_fraction, usable_gpus
from tfport.serve.session_config import SessionConfig

DEVICES = {
    "cpu": ["cpu"],
    "gpu": ["cuda:0"],
    "auto": ["auto"],
    "cuda:1": ["cuda:1"],
    "cuda:0,cuda:1": ["cuda:0", "cuda:1"],
    "cuda:1, tensorrt:0": ["cuda:1", "tensorrt:0"],
}
WRONG = {
    "cuda:0,cuda": "cuda:0 is listed more than once",
    "cuda:0,cpu": "cpu cannot be one of several devices; expected cuda:N or tensorrt:N",
    "auto,cuda": "auto cannot be one of several devices",
    "cuda:0,": "unknown device ``",
    "tpu": "unknown device `tpu`",
}


@pytest.mark.parametrize("text", DEVICES)
def test_devices(text):
    assert device_names(text) == DEVICES[text]


@pytest.mark.parametrize("text", WRONG)
def test_devices_that_are_refused(text):
    with pytest.raises(Error) as error:
        device_names(text)
    assert WRONG[text] in str(error.value)


def test_no_gpu_is_usable_where_all_are_hidden(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert usable_gpus(["cuda:0", "cuda:1"]) == []
    assert usable_gpus(["cpu"]) == []


def test_the_flag_has_precedence_over_the_file():
    assert memory_fraction(FlagValues(), SessionConfig(0.25)) == 0.25
    assert memory_fraction(FlagValues(per_process_gpu_memory_fraction=0.5), SessionConfig(0.25)) == 0.5
    with pytest.raises(Error, match="expected a number between 0 and 1"):
        memory_fraction(FlagValues(per_process_gpu_memory_fraction=2), SessionConfig())


def test_precision_and_whether_a_gpu_is_required():
    options = gpu_options(FlagValues(precision="float16", require_gpu=True))
    assert (options.precision, options.require) == ("float16", True)
