"""Render what a library registers, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tfport.graph.dtypes import DType
from tfport.lib.file_checks import machine_text
from tfport.lib.subject import LibrarySubject
from tfport.registry.library import Registered
from tfport.reports.console import facts, title
from tfport.reports.layout import ReportPart

if TYPE_CHECKING:
    from tfport.runtime.native.library_record import LibraryRecord

TFPORT, TENSORFLOW = "tfport", "tensorflow"


def library_json(subject: LibrarySubject, record: LibraryRecord | None) -> dict[str, Any]:
    """A library as JSON; `for` is null if it registers nothing."""
    header: dict[str, Any] = {"file": subject.file, "machine": subject.library.header.machine}
    if record is None:
        registered = subject.registered
        runtime = TENSORFLOW if registered.ops or registered.kernels or registered.partial else None
        return {**header, "for": runtime, "registers": registers_json(registered)}
    ops = [{"name": line.name, "signature": line.spec} for line in record.ops]
    kernels = [
        {
            "op": line.op,
            "constraints": {name: list(values) for name, values in line.constraints.items()},
            "label": line.label,
            "priority": line.priority,
        }
        for line in record.kernels
    ]
    versions = {"abi": record.abi, "header": _dotted(record.header), "tvm_ffi": _dotted(record.ffi)}
    return {**header, "for": TFPORT, **versions, "registers": {"ops": ops, "kernels": kernels}}


def registers_json(registered: Registered) -> dict[str, Any]:
    """The ops and kernels that a library registers."""
    return {
        "ops": [
            {"name": op.name, "attrs": op.attrs, "inputs": op.inputs, "outputs": op.outputs}
            for op in registered.ops
        ],
        "kernels": [
            {
                "op": kernel.op,
                "device": kernel.device,
                "constraints": {name: list(map(_type, types)) for name, types in kernel.constraints.items()},
                "host_memory": kernel.host_memory,
                "label": kernel.label,
                "priority": kernel.priority,
            }
            for kernel in registered.kernels
        ],
        "partial": registered.partial,
        "why_partial": registered.why_partial or None,
        "uncalled": registered.uncalled,
    }


def render_library(subject: LibrarySubject, record: LibraryRecord | None, width: int) -> Iterator[ReportPart]:
    """A library as text."""
    elf = subject.library
    yield title(subject.file, f"{machine_text(elf.header.machine)}, {elf.size:,} bytes")
    yield facts(_tensorflow_rows(subject) if record is None else _tfport_rows(record), width)


def _tfport_rows(record: LibraryRecord) -> Iterator[tuple[str, list[str]]]:
    header = f"tfport/op.h {_dotted(record.header)}"
    yield "built with", [header, f"ABI {record.abi}", f"tvm-ffi {_dotted(record.ffi)}"]
    for line in record.ops:
        yield "op", [line.spec]
    for kernel in record.kernels:
        yield "kernel", [f"{kernel.op} for {kernel}" if str(kernel) else f"{kernel.op} for all types"]
    if not record.ops and not record.kernels:
        yield "registers", ["nothing"]


def _tensorflow_rows(subject: LibrarySubject) -> Iterator[tuple[str, list[str]]]:
    registered = subject.registered
    if not (registered.ops or registered.kernels or registered.partial):
        yield "registers", ["nothing, neither in tfport nor in TensorFlow"]
        return
    yield "built with", subject.origin.describe()
    for op in registered.ops:
        attrs, inputs, outputs = (
            [text or "?" for text in texts] for texts in (op.attrs, op.inputs, op.outputs)
        )
        signature = f"({', '.join(inputs)}) -> {', '.join(outputs) or '()'}"
        yield "op", ["; ".join([f"{op.name or '?'}: {signature}", *attrs])]
    for kernel in registered.kernels:
        types = [f"{name}={','.join(map(_type, values))}" for name, values in kernel.constraints.items()]
        yield "kernel", ["; ".join([f"{kernel.op} on {kernel.device or '?'}", *types])]
    if registered.partial:
        yield "incomplete", [f"there may be more: {registered.why_partial}"]


def _type(number: int) -> str:
    return DType.of(number).name


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
