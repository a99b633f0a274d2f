"""Settings of ONNX Runtime's sessions that are the same for every provider, and the weights they share."""

from __future__ import annotations

import functools
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort

from tfport.runtime.onnx.contiguous_copy import contiguous

if TYPE_CHECKING:
    from numpy.typing import NDArray


ONLY_FATAL = 4
WEIGHTS = ".weights"
SPIN_MICROSECONDS = "50"
"""How long idle threads spin: longer than between two nodes of a network. ONNX Runtime's own is over 1000,
and where other processes need the cores, threads that spin wait for threads that cannot run."""
CPU_INFO = Path("/proc/cpuinfo")
X86 = ("x86_64", "AMD64", "i686")
EXACT = {"avx512_vnni", "avx_vnni"}
PRECISE_SETTING = ("session.x64quantprecision", "1")
"""The setting of ONNX Runtime for processors whose products saturate."""


def session_options(threads: int, spins: bool = True) -> ort.SessionOptions:
    options = ort.SessionOptions()
    if spins:
        options.add_session_config_entry("session.intra_op.spin_duration_us", SPIN_MICROSECONDS)
    else:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = ONLY_FATAL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    if byte_products_saturate():
        options.add_session_config_entry(*PRECISE_SETTING)
    return options


def save_optimized(options: ort.SessionOptions, path: Path) -> None:
    """Have a session write its model as it optimized it, with the weights in a file beside it."""
    options.optimized_model_filepath = str(path)
    entry = "session.optimized_model_external_initializers_"
    options.add_session_config_entry(f"{entry}file_name", path.with_suffix(WEIGHTS).name)
    options.add_session_config_entry(f"{entry}min_size_in_bytes", "1024")


_Shared = dict[str, tuple[ort.OrtValue, "NDArray[Any]"]]
"""Constants by name, and the memory that they are in; both must live as long as the sessions."""


def to_share(weights: Mapping[str, NDArray[Any]]) -> _Shared:
    """Constants that sessions use without copying them."""
    arrays = {name: contiguous(array) for name, array in weights.items()}
    return {name: (_ort_value(array), array) for name, array in arrays.items()}


def share(options: ort.SessionOptions, shared: _Shared) -> None:
    if shared:
        options.add_external_initializers(list(shared), [value for value, _ in shared.values()])


def _ort_value(array: NDArray[Any]) -> ort.OrtValue:
    if array.dtype.name == "bfloat16":
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), 16)
    return ort.OrtValue.ortvalue_from_numpy(array)


@functools.cache
def byte_products_saturate() -> bool:
    """Whether sums of products of unsigned and signed bytes may be wrong; True where that is unknown.

    x86 without VNNI adds pairs of products in 16 bits, which saturate. With `PRECISE_SETTING`, ONNX Runtime
    computes with unsigned weights, which is exact and takes some three times as long.
    """
    if platform.machine() not in X86:
        return False
    try:
        text = CPU_INFO.read_text("utf-8")
    except OSError:
        return True
    return not EXACT & processor_flags(text)


def processor_flags(text: str) -> set[str]:
    """The flags of the first processor."""
    lines = (line.partition(":") for line in text.splitlines())
    return next((set(flags.split()) for name, _, flags in lines if name.strip() == "flags"), set())
