import pytest

from tfport.errors import Error
from tfport.runtime.engines.gpu.device_name import parse_device
from tfport.runtime.engines.gpu.gpu_engine import providers_for
from tfport.runtime.engines.gpu.gpu_options import GpuOptions


def cuda_options(device: str = "cuda", **options):
    stream = options.pop("stream", None)
    (name, cuda), cpu = providers_for(parse_device(device), GpuOptions(**options), stream)
    assert (name, cpu) == ("CUDAExecutionProvider", "CPUExecutionProvider")
    return cuda


def test_options_of_the_cuda_provider():
    assert cuda_options("cuda:2")["device_id"] == "2"
    assert [cuda_options(precision=p)["use_tf32"] for p in ("tf32", "float32", "float16")] == ["1", "0", "1"]
    assert cuda_options(memory_bytes=1 << 30)["gpu_mem_limit"] == str(1 << 30)
    assert "gpu_mem_limit" not in cuda_options()


def test_sums_are_fused_with_convolutions_where_shapes_come_back():
    assert cuda_options()["fuse_conv_bias"] == "0"  # cuDNN compiles such kernels for seconds
    assert cuda_options(stream=4096)["fuse_conv_bias"] == "1"
    assert cuda_options(stream=4096, precision="bfloat16")["fuse_conv_bias"] == "0"  # it has no NHWC kernels


def test_a_session_that_is_recorded_runs_on_the_stream_of_its_graphs():
    assert cuda_options(stream=4096)["user_compute_stream"] == "4096"
    assert cuda_options(stream=4096)["enable_cuda_graph"] == "1"
    assert "user_compute_stream" not in cuda_options()


def test_attention_in_full_float32_uses_the_kernel_that_has_all_bits():
    assert cuda_options(precision="float32")["sdpa_kernel"] == "16"
    assert cuda_options(precision="tf32")["sdpa_kernel"] == "18"
    assert "sdpa_kernel" not in cuda_options(precision="float16")


def test_tensorrt_comes_first_and_remembers_its_engines(monkeypatch, tmp_path):
    monkeypatch.setenv("TFPORT_CACHE", str(tmp_path))
    first, second, _ = providers_for(parse_device("tensorrt"), GpuOptions(precision="float16"))
    assert first[0] == "TensorrtExecutionProvider"
    assert first[1]["trt_fp16_enable"] == "1"
    assert first[1]["trt_engine_cache_path"] == str(tmp_path / "tensorrt")
    assert first[1]["trt_load_user_initializer"] == "1"  # weights are not in the model
    assert second[1]["enable_cuda_graph"] == "0"  # its graphs are not recorded


def test_an_unknown_precision():
    with pytest.raises(Error, match="unknown precision `half`; expected one of: tf32, float32, float16, bf"):
        GpuOptions(precision="half")
