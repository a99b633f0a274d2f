import pytest

from tfport.errors import ResourceExhausted
from tfport.runtime.engines.gpu import gpu_engine
from tfport.runtime.engines.gpu.availability import physical_index
from tfport.runtime.engines.gpu.device_name import parse_device
from tfport.runtime.engines.gpu.nvml import Driver, Gpu, NvmlError

CUDA = parse_device("cuda:1")


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    gpus = tuple(Gpu(i, "a GPU", "9.0", 10_000, free, 0) for i, free in enumerate((1000, 2000)))
    monkeypatch.setattr(gpu_engine, "read_driver", lambda: Driver("1", "13", gpus))


@pytest.mark.parametrize(
    ("needed", "uploaded", "limit", "message"),
    [
        (2001, 0, 0, "the weights need 2,001 bytes on cuda:1, and 2,000 bytes are free"),
        (1500, 0, 1000, "the weights need 1,500 bytes on cuda:1, and the model may use 1,000 bytes"),
        (600, 500, 1000, "the weights need 600 bytes on cuda:1, and the model may use 1,000 bytes, "
         "of which 500 are in use"),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit(two_gpus, needed, uploaded, limit, message):
    with pytest.raises(ResourceExhausted) as caught:
        gpu_engine.check_fit(CUDA, needed, uploaded, limit)
    assert str(caught.value) == message


@pytest.mark.parametrize(("needed", "limit"), [(2000, 0), (1000, 1000), (0, 0)])
def test_weights_that_fit(two_gpus, needed, limit):
    gpu_engine.check_fit(CUDA, needed, 0, limit)


def test_a_driver_that_says_nothing_refuses_nothing(monkeypatch):
    def fails():
        raise NvmlError("no")

    monkeypatch.setattr(gpu_engine, "read_driver", fails)
    gpu_engine.check_fit(CUDA, 1 << 60, 0, 0)


@pytest.mark.parametrize(
    ("visible", "index", "physical"),
    [(None, 1, 1), ("3,1", 0, 3), ("3, 1", 1, 1), ("GPU-8f,1", 0, None), ("2", 1, None)],
)
def test_the_number_of_a_gpu(monkeypatch, visible, index, physical):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert physical_index(index) == physical
