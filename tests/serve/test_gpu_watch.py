"""A GPU that is lost ends the server with a sentence; metrics of GPUs are on the page."""

import asyncio

from tests.serve.models.exports import adder, export

from tfport.errors import Error
from tfport.runtime.engines.gpu.cuda_runtime import HostCopies
from tfport.runtime.engines.gpu.nvml import Driver, Gpu, NvmlError
from tfport.serve.flags import FlagValues
from tfport.serve.gpus import GpuWatch, report_gpus
from tfport.serve.monitoring.logs import Logs, open_logger
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.run import serve_until_stopped

MESSAGE = "cuda:0: cudaMemGetInfo fails: an illegal memory access was encountered"


class LostDevice(HostCopies):
    """A device that is lost after some checks."""

    def __init__(self, checks):
        self.left = checks

    def check(self):
        self.left -= 1
        if self.left < 0:
            raise Error(MESSAGE)


def test_the_watch_ends_when_a_gpu_is_lost():
    reasons = []
    asyncio.run(GpuWatch([HostCopies(), LostDevice(2)], reasons.append).run(seconds=0))
    assert reasons == [f"{MESSAGE}; this process cannot use the GPU any more, and ends: start it again"]


def test_a_server_without_its_gpu_exits_with_an_error(tmp_path, capsys):
    export(tmp_path / "m", 1, adder(1))
    flags = FlagValues(model_base_path=str(tmp_path / "m"), port=-1, rest_api_port=0)
    with open_logger("text", "info") as logger:
        code = asyncio.run(serve_until_stopped(flags, Logs(logger), [LostDevice(0)]))
    assert code == 1
    assert MESSAGE in capsys.readouterr().err


def test_memory_and_use_of_gpus_are_metrics():
    metrics = Metrics(process=False)
    gpu = Gpu(1, "NVIDIA H200", "9.0", 1000, 400, 25)
    report_gpus(metrics, lambda: Driver("580", "13.0", (gpu,)))
    text = metrics.text().decode()
    assert 'tfport_gpu_memory_used_bytes{gpu="1",name="NVIDIA H200"} 600' in text
    assert 'tfport_gpu_memory_total_bytes{gpu="1",name="NVIDIA H200"} 1000' in text
    assert 'tfport_gpu_utilization_ratio{gpu="1",name="NVIDIA H200"} 0.25' in text


def test_no_driver_means_no_metrics_of_gpus():
    def none():
        raise NvmlError("there is no NVIDIA driver on this machine")

    metrics = Metrics(process=False)
    report_gpus(metrics, none)
    assert "tfport_gpu_memory_used_bytes{" not in metrics.text().decode()
