"""CUDA graphs, with a CUDA that records what it is asked and has a graph of some nodes."""

import contextlib
import ctypes
import threading

import numpy as np
import pytest

from tfport.errors import Error
from tfport.runtime.engines.gpu import graph_stream
from tfport.runtime.engines.gpu.capture_lock import GPU_LOCK
from tfport.runtime.engines.gpu.cuda_runtime import HostCopies, address_of
from tfport.runtime.engines.gpu.graph_stream import CudaGraphStream, HostGraphStream

KERNEL, MEMCPY, HOST = 0, 1, 3
DEVICE = 1 << 60
"""Addresses from here on are of the device."""


class FakeCuda:
    """The calls that `CudaGraphStream` makes; `nodes` are those of every graph, with what they copy."""

    def __init__(self, nodes):
        self.nodes, self.calls = nodes, []

    def call(self, function, *arguments, allowed=0):
        self.calls.append(function)
        getattr(self, function, lambda *arguments: None)(*arguments)

    begin = call

    def cudaStreamCreateWithFlags(self, stream, flags):
        stream._obj.value = 77

    def cudaGraphGetNodes(self, graph, nodes, count):
        count._obj.value = len(self.nodes)
        for place in range(len(self.nodes) if nodes is not None else 0):
            nodes[place] = place + 1

    def cudaGraphNodeGetType(self, node, kind):
        kind._obj.value = self.nodes[node.value - 1][0]

    def cudaGraphMemcpyNodeGetParams(self, node, copy):
        _, source, target, size = self.nodes[node.value - 1]
        copy._obj.source.address, copy._obj.target.address, copy._obj.width = source, target, size

    def cudaGraphMemcpyNodeSetParams(self, node, copy):
        number = node.value - 1
        self.nodes[number] = (MEMCPY, copy._obj.source.address, *self.nodes[number][2:])

    def cudaPointerGetAttributes(self, attributes, address):
        attributes._obj[0] = 2 if address.value >= DEVICE else 0


@pytest.fixture
def cuda(monkeypatch):
    fake = FakeCuda([(KERNEL,)])
    monkeypatch.setattr(graph_stream, "CudaRuntime", lambda index: fake)
    monkeypatch.setattr(graph_stream, "CudaCopies", lambda index: HostCopies())
    return fake


def test_what_was_recorded_is_launched(cuda):
    stream, ran = CudaGraphStream(0), []
    replay = stream.record(lambda: ran.append(1))
    assert stream.address == 77
    assert ran == [1]
    begun = cuda.calls.index("cudaStreamBeginCapture")
    assert cuda.calls[begun + 1] == "cudaStreamEndCapture"
    cuda.calls.clear()
    replay()
    assert cuda.calls == ["cudaGraphLaunch"]
    del replay
    assert cuda.calls[-1] == "cudaGraphExecDestroy"


@pytest.mark.parametrize("around", [contextlib.nullcontext, GPU_LOCK.running])
def test_no_other_thread_uses_the_device_meanwhile(cuda, around):
    def beside():
        with GPU_LOCK.running():
            pass

    thread = threading.Thread(target=beside, daemon=True)

    def run():
        thread.start()
        thread.join(0.02)
        assert thread.is_alive()

    with around():
        CudaGraphStream(0).record(run)
    thread.join()


def test_a_copy_from_the_host_reads_memory_of_the_graph(cuda):
    sent = np.arange(5, dtype=np.uint8)
    cuda.nodes += [(MEMCPY, address_of(sent), DEVICE, 5), (MEMCPY, DEVICE, DEVICE + 9, 5)]
    replay = CudaGraphStream(0).record(lambda: None)
    sent[:] = 0  # ONNX Runtime uses its memory for something else
    _, source, *_ = cuda.nodes[1]
    assert list((ctypes.c_uint8 * 5).from_address(source)) == [0, 1, 2, 3, 4]
    assert cuda.nodes[2] == (MEMCPY, DEVICE, DEVICE + 9, 5)
    del replay


@pytest.mark.parametrize(
    ("node", "why"),
    [((HOST,), "a part of kind 3 cannot be repeated without the host"),
     ((MEMCPY, DEVICE, 4096, 5), "it copies to the host")],
)  # fmt: skip
def test_a_graph_that_needs_the_host_is_refused(cuda, node, why):
    cuda.nodes.append(node)
    with pytest.raises(Error, match=why):
        CudaGraphStream(0).record(lambda: None)
    assert cuda.calls[-1] == "cudaGraphDestroy"


def test_a_run_that_fails_ends_the_recording_and_leaves_no_error(cuda):
    with pytest.raises(ZeroDivisionError):
        CudaGraphStream(0).record(lambda: 1 / 0)
    assert cuda.calls[-2:] == ["cudaStreamEndCapture", "cudaGetLastError"]


def test_without_a_gpu_runs_are_repeated():
    stream, ran = HostGraphStream(), []
    replay = stream.record(lambda: ran.append(1))
    replay()
    assert ran == [1]
    source, target = np.arange(4, dtype=np.uint8), np.zeros(4, np.uint8)
    stream.copy(address_of(target), address_of(source), 3)
    assert target.tolist() == [0, 1, 2, 0]
    landing = stream.landing(4)
    stream.land(address_of(landing), address_of(source), 4)
    assert landing.tolist() == [0, 1, 2, 3]
