import os

import pytest

from tfport.runtime.engines.gpu import availability
from tfport.runtime.engines.gpu.availability import gpu_report, problem_of
from tfport.runtime.engines.gpu.device_name import parse_device
from tfport.runtime.engines.gpu.nvml import Driver, Gpu, NvmlError

GPUS = tuple(Gpu(i, "Some GPU", "9.0", 80 << 30, 79 << 30, 0) for i in range(2))
DRIVER = Driver("580.1", "13.0", GPUS)


@pytest.fixture
def machine(monkeypatch):
    """A machine with two GPUs and a package for them; tests take something away."""

    def take(driver=DRIVER, providers=("CUDAExecutionProvider",), packages=None, library="") -> None:
        def read_driver():
            if isinstance(driver, str):
                raise NvmlError(driver)
            return driver

        installed = packages or {"onnxruntime-gpu": "1.31.1"}
        monkeypatch.setattr(availability, "read_driver", read_driver)
        monkeypatch.setattr(availability.ort, "get_available_providers", lambda: list(providers))
        monkeypatch.setattr(availability, "_installed", lambda name: installed.get(name, ""))
        monkeypatch.setattr(availability, "_library_problem", lambda kind: library)
        monkeypatch.setattr(availability, "load_libraries", lambda: None)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    take()
    return take


def test_a_usable_gpu(machine):
    report = gpu_report()
    assert report.problem == ""
    assert report.to_json()["usable"] is True
    assert [gpu["index"] for gpu in report.to_json()["gpus"]] == [0, 1]
    assert problem_of(parse_device("cuda:1")) == ""
    assert problem_of(parse_device("cpu")) == ""


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"driver": "there is no NVIDIA driver on this machine"},
            "there is no NVIDIA driver on this machine",
        ),
        ({"driver": Driver("1", "13.0", ())}, "the NVIDIA driver sees no GPU"),
        ({"providers": (), "packages": {"onnxruntime": "1.30.0"}}, "computes on the CPU only: pip install"),
        (
            {"providers": (), "packages": {"onnxruntime": "1.30.0", "onnxruntime-gpu": "1.31.1"}},
            "onnxruntime 1.30.0 has overwritten the files of onnxruntime-gpu 1.31.1, because both are "
            "the same module: pip uninstall -y onnxruntime onnxruntime-gpu && "
            "pip install --no-deps onnxruntime-gpu==1.31.1",
        ),
        ({"library": "x.so needs libcudnn.so.9, which is not installed"}, "x.so needs libcudnn.so.9"),
    ],
)
def test_what_is_missing_is_said(machine, changes, sentence):
    machine(**changes)
    assert sentence in gpu_report().problem
    assert sentence in problem_of(parse_device("cuda"))


@pytest.mark.parametrize(
    ("visible", "device", "sentence"),
    [
        ("", "cuda", "CUDA_VISIBLE_DEVICES is ``, which hides every GPU"),
        ("-1", "cuda", "CUDA_VISIBLE_DEVICES is `-1`, which hides every GPU"),
        ("1", "cuda:1", "there is no cuda:1: this process sees 1 GPU, from cuda:0"),
        ("0,7,1", "cuda:1", "this process sees 1 GPU"),
        ("GPU-12ab,1", "cuda:2", "this process sees 2 GPUs"),
    ],
)
def test_hidden_gpus(machine, monkeypatch, visible, device, sentence):
    monkeypatch.setitem(os.environ, "CUDA_VISIBLE_DEVICES", visible)
    assert sentence in problem_of(parse_device(device))


def test_tensorrt_needs_its_provider(machine):
    assert problem_of(parse_device("tensorrt")) == "onnxruntime-gpu 1.31.1 has no TensorrtExecutionProvider"
