"""`tfport lib show FILE…`: what libraries register, tfport's or TensorFlow's, read from their files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType

from tfport.check.console import facts, show, title
from tfport.check.lib.diagnosis import LibrarySubject
from tfport.check.lib.file_checks import machine_text
from tfport.check.lib.json import registers_json
from tfport.cli.json_output import print_json
from tfport.errors import BadLibrary
from tfport.runtime.native.library_record import LibraryRecord
from tfport.runtime.native.load_checks import read_library

VERSION = 1
TFPORT, TENSORFLOW = "tfport", "tensorflow"


def run(args: argparse.Namespace) -> int:
    found = [read_library(file) for file in args.files]
    for subject, about in found:
        if about is None and subject.damage:
            raise BadLibrary(f"{subject.file}: {subject.damage}")
    if args.json:
        libraries = [library_json(subject, about) for subject, about in found]
        print_json({"version": VERSION, "libraries": libraries})
    else:
        show(lambda width: (part for one in found for part in rendered(*one, width)))
    return 0


def library_json(subject: LibrarySubject, about: LibraryRecord | None) -> dict[str, Any]:
    """A library for programs; `for` is null where it registers nothing with anyone."""
    said: dict[str, Any] = {"file": subject.file, "machine": subject.library.header.machine}
    if about is None:
        found = subject.registered
        for_whom = TENSORFLOW if found.ops or found.kernels or found.partial else None
        return {**said, "for": for_whom, "registers": registers_json(found)}
    ops = [{"name": line.name, "signature": line.spec} for line in about.ops]
    kernels = [
        {
            "op": line.op,
            "constraints": {name: list(values) for name, values in line.constraints.items()},
            "label": line.label,
            "priority": line.priority,
        }
        for line in about.kernels
    ]
    versions = {"abi": about.abi, "header": _dotted(about.header), "tvm_ffi": _dotted(about.ffi)}
    return {**said, "for": TFPORT, **versions, "registers": {"ops": ops, "kernels": kernels}}


def rendered(subject: LibrarySubject, about: LibraryRecord | None, width: int) -> Iterator[RenderableType]:
    """A library for people."""
    elf = subject.library
    yield title(subject.file, f"{machine_text(elf.header.machine)}, {elf.size:,} bytes")
    yield facts(_of_tensorflow(subject) if about is None else _of_tfport(about), width)


def _of_tfport(about: LibraryRecord) -> Iterator[tuple[str, list[str]]]:
    header = f"tfport/op.h {_dotted(about.header)}"
    yield "built with", [header, f"ABI {about.abi}", f"tvm-ffi {_dotted(about.ffi)}"]
    for line in about.ops:
        yield "op", [line.spec]
    for kernel in about.kernels:
        yield "kernel", [f"{kernel.op} for {kernel}" if str(kernel) else f"{kernel.op} for everything"]
    if not about.ops and not about.kernels:
        yield "registers", ["nothing"]


def _of_tensorflow(subject: LibrarySubject) -> Iterator[tuple[str, list[str]]]:
    registered = subject.registered
    if not (registered.ops or registered.kernels or registered.partial):
        yield "registers", ["nothing, neither with tfport nor with TensorFlow"]
        return
    yield "built with", subject.origin.describe()
    for op in registered.ops:
        attrs, inputs, outputs = (
            [text or "?" for text in texts] for texts in (op.attrs, op.inputs, op.outputs)
        )
        given = "; ".join(["", *attrs])
        yield "op", [f"{op.name or '?'}: ({', '.join(inputs)}) -> {', '.join(outputs) or '()'}{given}"]
    for kernel in registered.kernels:
        types = [f"{name}={','.join(map(_type, values))}" for name, values in kernel.constraints.items()]
        yield "kernel", ["; ".join([f"{kernel.op} on {kernel.device or '?'}", *types])]
    if registered.partial:
        yield "and perhaps", [f"more: {registered.why_partial}"]


def _type(number: int) -> str:
    from tfport.graph.dtypes import DType

    return DType.of(number).name


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
