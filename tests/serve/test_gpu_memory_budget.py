"""The memory that the models of a server may use together."""

import pytest

from tfport.errors import ResourceExhausted
from tfport.runtime.engines.gpu.gpu_options import NO_GPU_OPTIONS
from tfport.serve.gpus import GpuMemoryBudget


def test_later_models_get_what_is_left():
    free = [900]
    budget = GpuMemoryBudget(0.5, lambda index: (free[0], 1000))
    assert budget.options_for("cuda:0", NO_GPU_OPTIONS).memory_bytes == 500
    free[0] = 600
    assert budget.options_for("cuda:0", NO_GPU_OPTIONS).memory_bytes == 200
    free[0] = 400
    with pytest.raises(ResourceExhausted) as error:
        budget.options_for("cuda:0", NO_GPU_OPTIONS)
    assert str(error.value) == (
        "cuda:0: the models of this server use 500 bytes, and "
        "--per_process_gpu_memory_fraction=0.5 allows 500"
    )
    assert budget.options_for("cuda:1", NO_GPU_OPTIONS).memory_bytes == 500


@pytest.mark.parametrize(
    ("fraction", "device", "memory"), [(0, "cuda", (9, 9)), (0.5, "cpu", (9, 9)), (0.5, "cuda", None)]
)
def test_no_limit(fraction, device, memory):
    budget = GpuMemoryBudget(fraction, lambda index: memory)
    assert budget.options_for(device, NO_GPU_OPTIONS) is NO_GPU_OPTIONS


@pytest.mark.parametrize(
    ("fraction", "most", "allowed"),
    [(0, 300, 300), (0.5, 300, 300), (0.5, 700, 500), (0.5, 0, 500)],
)
def test_a_model_has_a_limit_of_its_own(fraction, most, allowed):
    budget = GpuMemoryBudget(fraction, lambda index: (900, 1000))
    assert budget.options_for("cuda:0", NO_GPU_OPTIONS, most).memory_bytes == allowed
