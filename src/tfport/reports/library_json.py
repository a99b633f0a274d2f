"""Library reports as JSON: the contract of `tfport lib --json`, version 1."""

from __future__ import annotations

from typing import Any

from tfport.check.findings.finding import Finding
from tfport.lib.diagnosis import LibraryResult
from tfport.lib.report import VERSION, LibraryReport, LibraryReports
from tfport.registry.library import Registered


def to_json(report: LibraryReports) -> dict[str, Any]:
    return {
        "version": VERSION,
        "libraries": [_library(library) for library in report.libraries],
        "other_libraries": report.others,
    }


def _library(library: LibraryReport) -> dict[str, Any]:
    return {
        "file": library.file,
        "archive": library.subject.archive or None,
        "verdict": library.verdict,
        "library": _facts(library) if library.subject.is_readable else None,
        "results": [_result(result) for result in library.results],
    }


def _facts(library: LibraryReport) -> dict[str, Any]:
    subject = library.subject
    elf, origin = subject.library, subject.origin
    return {
        "machine": elf.header.machine,
        "size": elf.size,
        "soname": elf.soname or None,
        "needed": elf.needed,
        "rpath": elf.rpath,
        "runpath": elf.runpath,
        "versions": {name: sorted(versions) for name, versions in elf.required_versions.items()},
        "built_with": {
            "tensorflow": [span.to_json() for span in origin.spans],
            "abseil": origin.abseil or None,
            "cxx11_abi": origin.cxx11_abi,
            "declares": subject.declares or None,
        },
        "registers": registers_json(subject.registered),
    }


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


def _type(number: int) -> str:
    from tfport.graph.dtypes import DType

    return DType.of(number).name


def _result(result: LibraryResult) -> dict[str, Any]:
    return {
        "target": result.target.requirement,
        "machine": result.machine,
        "verdict": result.verdict,
        "says": result.says,
        "notes": result.target.notes,
        "findings": [_finding(finding) for finding in result.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "op": finding.op,
        "message": finding.message,
        "says": finding.says(),
        "cause": finding.cause(),
        "doubt": finding.doubt or None,
        "symbols": getattr(finding, "missing", []),
        "fixes": finding.fixes(),
    }
