"""Whether a GPU can be used here, and if not, why: in a sentence that says what to do."""

from __future__ import annotations

import ctypes
import functools
import os
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import onnxruntime as ort

from tfport.extras import install_command
from tfport.runtime.engines.gpu.device_name import CUDA, TENSORRT, DeviceName
from tfport.runtime.engines.gpu.nvml import Driver, NvmlError, read_driver
from tfport.runtime.engines.session_settings import ONLY_FATAL
from tfport.startup.dataclass import dataclass

PROVIDERS = {CUDA: "CUDAExecutionProvider", TENSORRT: "TensorrtExecutionProvider"}
INSTALL = install_command("cuda")
REMEDIES = {CUDA: INSTALL, TENSORRT: "install TensorRT 10, with its libraries on LD_LIBRARY_PATH"}
GPU_PACKAGE, CPU_PACKAGE = "onnxruntime-gpu", "onnxruntime"
VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True, slots=True)
class GpuReport:
    """What there is of GPUs, drivers and libraries, and why they cannot be used."""

    driver: Driver | None
    package: str
    """ONNX Runtime's package with its version."""
    cuda: str
    """The CUDA that ONNX Runtime was built for; empty for a build without it."""
    cudnn: str
    providers: tuple[str, ...]
    problem: str
    """Why no GPU can be used; empty if one can."""

    def to_json(self) -> dict[str, Any]:
        driver = self.driver
        gpus = [
            {"index": g.index, "name": g.name, "compute_capability": g.compute_capability,
             "memory_bytes": g.total_bytes, "free_bytes": g.free_bytes, "utilization": g.utilization}
            for g in (driver.gpus if driver else ())
        ]  # fmt: skip
        return {
            "usable": not self.problem,
            "problem": self.problem,
            "driver": driver and {"version": driver.version, "cuda": driver.cuda},
            "gpus": gpus,
            "onnxruntime": {"package": self.package, "cuda": self.cuda, "providers": list(self.providers)},
            "cudnn": self.cudnn,
        }


def gpu_report() -> GpuReport:
    """What is there now."""
    driver, problem = None, ""
    try:
        driver = read_driver()
    except NvmlError as error:
        problem = str(error)
    problem = problem or _hidden(driver) or _packages_problem() or _provider_problem()
    cuda = str(getattr(ort, "cuda_version", "") or "")
    return GpuReport(driver, _package(), cuda, _cudnn(), tuple(ort.get_available_providers()), problem)


def problem_of(device: DeviceName) -> str:
    """Why a device cannot be used; empty if it can."""
    if not device.is_gpu:
        return ""
    report = gpu_report()
    if report.problem:
        return report.problem
    count = _visible_count(report.driver)
    if device.index >= count:
        gpus = f"{count} GPU" + "s" * (count != 1)
        return f"there is no {device}: this process sees {gpus}, from {device.kind}:0"
    provider = PROVIDERS.get(device.kind, PROVIDERS[CUDA])
    if provider not in report.providers:
        return f"{report.package} has no {provider}"
    return _library_problem(device.kind) if device.kind == TENSORRT else ""


def _hidden(driver: Driver | None) -> str:
    if driver is not None and not driver.gpus:
        return "the NVIDIA driver sees no GPU"
    if _visible_count(driver) == 0:
        return f"{VISIBLE} is `{os.environ.get(VISIBLE, '')}`, which hides every GPU from this process"
    return ""


def _visible_count(driver: Driver | None) -> int:
    count = len(driver.gpus) if driver is not None else 0
    chosen = os.environ.get(VISIBLE)
    if chosen is None:
        return count
    visible = 0
    for name in chosen.split(","):  # CUDA stops at the first that it does not know
        number = name.strip()
        if number.startswith(("GPU-", "MIG-")) or (number.isdecimal() and int(number) < count):
            visible += 1
        else:
            break
    return visible


def name_of(device: DeviceName) -> str:
    """What the driver calls a GPU; empty if it does not say."""
    driver, index = gpu_report().driver, physical_index(device.index)
    gpus = driver.gpus if driver is not None else ()
    return gpus[index].name if index is not None and index < len(gpus) else ""


def physical_index(index: int) -> int | None:
    """The driver's number of a GPU of this process; None if the environment names GPUs in another way."""
    chosen = os.environ.get(VISIBLE)
    if chosen is None:
        return index
    names = [name.strip() for name in chosen.split(",")]
    return int(names[index]) if index < len(names) and names[index].isdecimal() else None


def _packages_problem() -> str:
    """What is wrong with the installed packages: two of them write the same module `onnxruntime`."""
    gpu, cpu = _installed(GPU_PACKAGE), _installed(CPU_PACKAGE)
    if PROVIDERS[CUDA] in ort.get_available_providers():
        return ""
    if not gpu:
        return f"{_package()} computes on the CPU only: {INSTALL}"
    if cpu:
        return (
            f"{CPU_PACKAGE} {cpu} has overwritten the files of {GPU_PACKAGE} {gpu}, because both are "
            "the same module: "
            f"pip uninstall -y {CPU_PACKAGE} {GPU_PACKAGE} && pip install --no-deps {GPU_PACKAGE}=={gpu}"
        )
    return f"{GPU_PACKAGE} {gpu} was built without CUDA"


def _provider_problem() -> str:
    load_libraries()
    return _library_problem(CUDA)


@functools.cache
def load_libraries() -> None:
    """Load CUDA and cuDNN of the packages nvidia-*, if they are installed: the loader does not look there."""
    if PROVIDERS[CUDA] in ort.get_available_providers() and hasattr(ort, "preload_dlls"):
        from contextlib import redirect_stdout
        from io import StringIO

        with redirect_stdout(StringIO()):  # it prints what it does not find
            ort.preload_dlls(directory="")
        ort.set_default_logger_severity(ONLY_FATAL)  # it warns of plugins that nobody asked for


@functools.cache
def _library_problem(kind: str) -> str:
    """Why the library of a provider does not load, such as a missing libcudnn."""
    from pathlib import Path

    folder = Path(ort.__file__).parent / "capi"
    library = folder / f"libonnxruntime_providers_{kind}.so"
    if not library.exists():
        return f"{_package()} has no {library.name}"
    try:
        ctypes.CDLL(str(folder / "libonnxruntime_providers_shared.so"), mode=ctypes.RTLD_GLOBAL)
        ctypes.CDLL(str(library))
    except OSError as error:
        missing = str(error).partition(":")[0]
        if missing.startswith("lib") and "No such file" in str(error):
            return f"{library.name} needs {missing}, which is not installed: {REMEDIES[kind]}"
        return f"{library.name} does not load: {error}"
    return ""


def _cudnn() -> str:
    """The version of cuDNN; empty if there is none."""
    load_libraries()
    try:
        number = int(ctypes.CDLL("libcudnn.so.9").cudnnGetVersion())
    except (OSError, AttributeError):
        return ""
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def _package() -> str:
    gpu = _installed(GPU_PACKAGE) if PROVIDERS[CUDA] in ort.get_available_providers() else ""
    return f"{GPU_PACKAGE} {gpu}" if gpu else f"{CPU_PACKAGE} {ort.__version__}"


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
