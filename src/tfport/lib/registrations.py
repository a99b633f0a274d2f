"""Findings about the ops and kernels that a library registers, compared with its target."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from tfport.atlas.target import Target
from tfport.check.findings.finding import Finding
from tfport.check.findings.library_ops import (
    DuplicateKernel,
    InvalidRegistration,
    KernelWithoutOp,
    LibraryOpWithoutKernel,
    NothingRegistered,
    OpAlreadyRegistered,
    OpRegisteredTwice,
    ServingLoadsNoLibraries,
)
from tfport.formats.elf.mangling import short_name
from tfport.graph.op_spec import registration_errors
from tfport.lib.subject import LibrarySubject
from tfport.registry.kernels import Kernel
from tfport.registry.library import LibrarySource

CPU, DEFAULT = "CPU", "DEFAULT"
PLUGINS = frozenset(("TF_InitPlugin", "SE_InitPlugin", "TF_InitGraph"))
"""What TensorFlow calls in a plugin: a file system, a device, an optimizer."""


def registration_findings(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    """The findings about registrations; registrations that could not be read are ignored."""
    registered, file = subject.registered, subject.file
    if target.kind == "serving" and (registered.ops or registered.kernels or registered.partial):
        yield ServingLoadsNoLibraries(on=target, file=file)
    if not registered.ops and not registered.kernels:
        if not registered.partial and _should_register(subject):
            yield NothingRegistered(on=target, file=file, why=_why_nothing(subject))
        return
    for op in registered.twice:
        yield OpRegisteredTwice(on=target, file=file, op=op)
    yield from _invalid_ops(subject, target)
    source = LibrarySource(file, registered)
    for op in source.ops():
        yield from _op(subject, target, source, op)
    for op in registered.kernel_ops:
        yield from _kernels(subject, target, source, op)


def _should_register(subject: LibrarySubject) -> bool:
    """Whether a library seems meant to register ops: wheels also have plugins and libraries that ops use."""
    if subject.registered.uncalled:
        return True
    return subject.is_named and not PLUGINS & subject.library.symbols.defined


def _why_nothing(subject: LibrarySubject) -> str:
    library, uncalled = subject.library, subject.registered.uncalled
    if uncalled:
        function, ops = next(iter(uncalled.items()))
        return f"`{short_name(function)}` would register {', '.join(ops) or 'ops'}, but nothing calls it"
    if not subject.origin.of_tensorflow:
        return "it does not use TensorFlow: its code was not linked in, or it is another library"
    if not library.initializers:
        return "it runs no code when it is loaded"
    return "it uses TensorFlow, but none of the registration functions"


def _invalid_ops(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    for op in subject.registered.ops:
        texts = (*op.attrs, *op.inputs, *op.outputs)
        if None in texts:
            continue
        problems = registration_errors(
            op.name or "", *([t for t in specs if t] for specs in (op.attrs, op.inputs, op.outputs))
        )
        if problems:
            yield InvalidRegistration(on=target, file=subject.file, op=op.name, errors=tuple(problems))


def _op(subject: LibrarySubject, target: Target, source: LibrarySource, op: str) -> Iterator[Finding]:
    if op in target.registry:
        yield OpAlreadyRegistered(on=target, file=subject.file, op=op)
        return
    if source.partial:
        return
    devices = sorted({kernel.device for kernel in source.kernels(op)} - {""})
    if not source.kernels(op) or not {CPU, DEFAULT} & set(devices):
        idle = (name for name, ops in subject.registered.uncalled.items() if op in ops)
        uncalled = short_name(next(idle, ""))
        yield LibraryOpWithoutKernel(
            on=target, file=subject.file, op=op, devices=tuple(devices), uncalled=uncalled
        )


def _kernels(subject: LibrarySubject, target: Target, source: LibrarySource, op: str) -> Iterator[Finding]:
    if op not in target.registry and op not in source.ops() and not source.partial:
        close = tuple(difflib.get_close_matches(op, source.ops(), 1))
        yield KernelWithoutOp(on=target, file=subject.file, op=op, close=close)
    theirs = target.registry.kernels(op) if op in target.registry else []
    for device in sorted({ours.device for ours in source.kernels(op) if _conflicts(ours, theirs)}):
        yield DuplicateKernel(on=target, file=subject.file, op=op, device=device)


def _conflicts(ours: Kernel, theirs: list[Kernel]) -> bool:
    """Whether two kernels of equal priority would match the same node."""
    return any(
        (ours.device, ours.label, ours.priority) == (other.device, other.label, other.priority)
        and all(
            set(values) & set(other.constraints[name])
            for name, values in ours.constraints.items()
            if name in other.constraints
        )
        for other in theirs
    )
