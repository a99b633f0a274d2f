"""Short labels for findings in lists."""

from __future__ import annotations

from tfport.check.findings.finding import Finding
from tfport.check.findings.library_dependencies import (
    MissingCudaLibrary,
    MissingLibrary,
    MissingTensorFlowLibrary,
    SystemTooOld,
    UnknownMachine,
)
from tfport.check.findings.library_symbols import OtherCxxAbi, SymbolFinding
from tfport.formats.elf.mangling import short_name


def label_of(finding: Finding) -> str:
    """A library, symbol or version such as `libacme.so.1`; the name of the finding if it has none."""
    match finding:
        case MissingLibrary() | MissingCudaLibrary() | MissingTensorFlowLibrary():
            return finding.library
        case OtherCxxAbi():
            return f"compiled with _GLIBCXX_USE_CXX11_ABI={finding.abi}"
        case SymbolFinding():
            return short_name(finding.missing[0])
        case SystemTooOld():
            return f"{finding.family} {finding.wanted}"
        case UnknownMachine():
            return finding.libraries
    return finding.op or finding.name
