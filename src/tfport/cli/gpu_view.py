"""Show the GPUs of this machine, the libraries for them, and why they cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfport.reports.console import facts, title

if TYPE_CHECKING:
    from tfport.reports.layout import ReportPart
    from tfport.runtime.engines.gpu.availability import GpuReport

NONE = "none"


def render_gpus(report: GpuReport, width: int) -> Iterator[ReportPart]:
    driver = report.driver
    yield title("GPUs", "usable" if not report.problem else "cannot be used")
    rows = {"problem": report.problem} if report.problem else {}
    for gpu in driver.gpus if driver else ():
        memory = f"{gpu.free_bytes / 1e9:,.1f} of {gpu.total_bytes / 1e9:,.1f} GB free"
        rows[f"cuda:{gpu.index}"] = f"{gpu.name}, compute capability {gpu.compute_capability}, {memory}"
    rows["driver"] = f"{driver.version}, for CUDA up to {driver.cuda}" if driver else NONE
    rows["onnxruntime"] = f"{report.package}, {f'CUDA {report.cuda}' if report.cuda else 'without CUDA'}"
    rows["cuDNN"] = report.cudnn or NONE
    yield facts(((name, [value]) for name, value in rows.items()), width)
