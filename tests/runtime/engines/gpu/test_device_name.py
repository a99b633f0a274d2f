import pytest

from tfport.errors import Error
from tfport.runtime.engines.gpu.device_name import DeviceName, parse_device


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("cpu", DeviceName("cpu")),
        ("cuda", DeviceName("cuda", 0)),
        ("CUDA:1", DeviceName("cuda", 1)),
        ("gpu", DeviceName("cuda", 0)),
        ("tensorrt:2", DeviceName("tensorrt", 2)),
        ("auto", DeviceName("auto")),
    ],
)
def test_devices(text, device):
    assert parse_device(text) == device
    assert parse_device(str(device)) == device


@pytest.mark.parametrize("text", ["", "tpu", "cuda:", "cuda:x", "cuda:1:2", "cpu:1", "auto:0", "cuda:-1"])
def test_what_is_not_a_device(text):
    with pytest.raises(Error, match=r"unknown device `.*`; expected cpu, cuda, cuda:N"):
        parse_device(text)
