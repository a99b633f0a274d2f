"""Findings about the symbols that a library does not find on a target.

Functions that take a string view take Abseil's own class if TensorFlow was compiled as C++14,
and `std::string_view` if it was compiled as C++17: a library may be of the other standard.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from tfport.atlas.atlas import Build
from tfport.atlas.cxx_abi import ABSEIL, ABSEILS, new_abi
from tfport.atlas.release_spans import spans_text
from tfport.atlas.symbols import symbols
from tfport.atlas.target import Target
from tfport.check.findings.finding import Finding
from tfport.check.findings.library_dependencies import shortened
from tfport.check.findings.library_symbols import (
    NewerTensorFlow,
    NotInFramework,
    NotLinked,
    OtherCxxAbi,
    OtherTensorFlow,
    SymbolFinding,
    UndefinedForeignSymbol,
    UndefinedOwnSymbol,
    UnrecordedSymbols,
)
from tfport.formats.elf.mangling import demangled
from tfport.formats.elf.symbols import Undefined
from tfport.lib.file_checks import machine_text
from tfport.lib.library_search import LoadedLibrary
from tfport.lib.origin import (
    FRAMEWORK_ONLY,
    abseil_releases,
    is_of_tensorflow,
    newest_release,
    process_libraries,
    symbols_name,
    visible_symbols,
)
from tfport.lib.subject import LibrarySubject
from tfport.lib.tensorflow_libraries import FRAMEWORK, OTHERS_VERSION, has_symbol_versions, libraries_of

PYTHON_SYMBOL = re.compile(r"_?Py[A-Z_]\w*")


def symbol_findings(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    """The findings about undefined symbols by cause, in the order of relocation."""
    build, machine = target.build, subject.machine
    if build is None or symbols_name(build, machine) not in symbols().builds:
        if subject.origin.of_tensorflow:
            where = f" for {machine_text(machine)}"
            yield UnrecordedSymbols(on=target, file=subject.file, machine=where)
        return
    for loaded in subject.closure.own_libraries():
        yield from _library_findings(subject, target, build, loaded)


def _library_findings(
    subject: LibrarySubject, target: Target, build: Build, loaded: LoadedLibrary
) -> Iterator[Finding]:
    """The findings about the symbols of one library, in the order in which the loader notices them."""
    process = process_libraries(build, subject.machine, subject.closure.of_tensorflow)
    symbols_needed = {
        u.name: u.version
        for u in subject.closure.undefined(loaded, process)
        if not PYTHON_SYMBOL.fullmatch(u.name)
    }
    order = {name: index for index, name in enumerate(symbols_needed)}
    findings = list(_by_cause(subject, target, build, loaded, symbols_needed))
    for finding in findings:
        finding.version = symbols_needed[finding.missing[0]]
    yield from sorted(findings, key=lambda finding: order[finding.missing[0]])


def _by_cause(
    subject: LibrarySubject, target: Target, build: Build, loaded: LoadedLibrary, undefined: Mapping[str, str]
) -> Iterator[SymbolFinding]:
    """Findings by cause about undefined symbols, each with its version."""
    requirer = subject.name_in_messages(loaded)
    known = subject.origin.exporters
    exporters = {name: known[name] if name in known else symbols().exporters(name) for name in undefined}
    whole = symbols_name(build, subject.machine)
    visible = visible_symbols(build, subject.machine, subject.closure.of_tensorflow)
    exported = [
        name for name, version in undefined.items() if _exports(build, whole, exporters[name], version)
    ]
    released = [name for name in undefined if exporters[name] and name not in exported]
    unreleased = [name for name in undefined if not exporters[name]]
    if exported and visible is None:
        yield NotLinked(on=target, file=subject.file, requirer=requirer, missing=exported)
    elif hidden := [name for name in exported if visible not in exporters[name]]:
        library = next(name for name in libraries_of(build.version) if not FRAMEWORK.fullmatch(name))
        yield NotInFramework(on=target, file=subject.file, requirer=requirer, missing=hidden, library=library)
    if released:
        yield _other_release(subject, target, build, requirer, released)
    if unreleased:
        yield from _defined_nowhere(subject, target, build, loaded, unreleased)


def _exports(build: Build, whole: str, exporters: Collection[str], version: str) -> bool:
    """Whether a build exports a symbol in a version; symbols of the framework library have none."""
    if whole not in exporters:
        return False
    return (
        version in ("", OTHERS_VERSION)
        or whole + FRAMEWORK_ONLY in exporters
        or not has_symbol_versions(build.version)
    )


def _other_release(
    subject: LibrarySubject, target: Target, build: Build, requirer: str, missing: list[str]
) -> SymbolFinding:
    origin = subject.origin
    abi, other = origin.cxx11_abi, build.facts.get("cxx11_abi")
    with_strings = [name for name in missing if _has_strings(name)]
    if abi is not None and other is not None and abi != other and with_strings:
        return _other_cxx_abi(subject, target, build, requirer, missing)
    hints = [hint] if (hint := other_standard(missing, build, subject.machine)) else []
    if origin.abseil and any(ABSEIL.search(name) for name in missing):
        hints.append(f"compiled with Abseil lts_{origin.abseil}")
    return OtherTensorFlow(
        on=target,
        file=subject.file,
        requirer=requirer,
        missing=missing,
        built_for=spans_text(origin.spans),
        hints=tuple(hints),
    )


def _other_cxx_abi(
    subject: LibrarySubject, target: Target, build: Build, requirer: str, missing: list[str]
) -> OtherCxxAbi:
    abi = bool(subject.origin.cxx11_abi)
    pythons = [subject.options.python] if subject.options.python else build.facts.get("pythons") or []
    same_abi = [python for python in pythons if new_abi(build.requirement, python) is abi]
    doubt = f"the wheels for Python {', '.join(same_abi)} use this ABI, and their symbols are not recorded"
    return OtherCxxAbi(
        on=target,
        file=subject.file,
        requirer=requirer,
        abi=int(abi),
        missing=missing,
        doubt=doubt if same_abi else "",
    )


def _has_strings(symbol: str) -> bool:
    return "__cxx11" in symbol or "std::string" in demangled(symbol)


def _defined_nowhere(
    subject: LibrarySubject, target: Target, build: Build, loaded: LoadedLibrary, missing: list[str]
) -> Iterator[SymbolFinding]:
    """Findings about symbols that no recorded release exports: the library's own, or another's."""
    requirer = subject.name_in_messages(loaded)
    abi = _other_abi(subject, build, missing)
    if abi:
        yield _other_cxx_abi(subject, target, build, requirer, abi)
        missing = [name for name in missing if name not in abi]
    if subject.closure.unknown:
        return  # an unknown library may define them; UnknownMachine reports it
    of_tensorflow = [name for name in missing if is_of_tensorflow(name)]
    if of_tensorflow:
        yield NewerTensorFlow(
            on=target,
            file=subject.file,
            requirer=requirer,
            missing=of_tensorflow,
            newest=newest_release(),
            abseil=subject.origin.abseil,
            abseil_releases=spans_text(abseil_releases(subject.origin.abseil)),
        )
    rest = [name for name in missing if name not in of_tensorflow]
    process = process_libraries(build, subject.machine, subject.closure.of_tensorflow)
    for doubt, names in _by_doubt(subject, process, rest):
        own = [name for name in names if name.startswith("_Z")]
        others = [name for name in names if not name.startswith("_Z")]
        values: dict[str, Any] = {"on": target, "file": subject.file, "requirer": requirer, "doubt": doubt}
        if own:
            yield UndefinedOwnSymbol(missing=own, **values)
        if others:
            yield UndefinedForeignSymbol(missing=others, **values)


def _by_doubt(
    subject: LibrarySubject, process: tuple[str, ...], missing: list[str]
) -> Iterator[tuple[str, list[str]]]:
    """The symbols that no machine has, and those that only some have, with the reason for the doubt."""
    on_some = [
        name
        for name in missing
        if subject.closure.is_in_process(Undefined(name, is_weak=False), process) is None
    ]
    yield "", [name for name in missing if name not in on_some]
    if on_some:
        yield f"the system libraries of some machines have {shortened(on_some)}", on_some


def _other_abi(subject: LibrarySubject, build: Build, missing: list[str]) -> list[str]:
    """The TensorFlow symbols with strings of the other ABI, which no release may export."""
    abi, other = subject.origin.cxx11_abi, build.facts.get("cxx11_abi")
    if abi is None or other is None or abi == other:
        return []
    return [name for name in missing if is_of_tensorflow(name) and _has_strings(name)]


# Libraries that were compiled as another C++ standard than a release.

STANDARD = "St17basic_string_viewIcSt11char_traitsIcEE"
OF_ABSEIL = tuple(f"N4absl12lts_{date}11string_viewE" for date in ABSEILS)
REPEAT = re.compile(r"S([0-9A-Z]*)_")
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SHIFTS = range(-4, 5)
"""How far the numbers of back references can shift when one class replaces another."""


def other_standard(missing: Iterable[str], build: Build, machine: str) -> str:
    """The standard that the release needs, if it exports the same functions with the other class."""
    ours = symbols_name(build, machine)
    for name in missing:
        if any(ours in symbols().exporters(other) for other in _with_other(name, [STANDARD], OF_ABSEIL)):
            return f"compiled as C++17 or later, and {build.name} as C++14 (-std=c++14)"
        if any(ours in symbols().exporters(other) for other in _with_other(name, OF_ABSEIL, [STANDARD])):
            return f"compiled as C++14, and {build.name} as C++17 (-std=c++17)"
    return ""


def _with_other(symbol: str, old: Iterable[str], new: Iterable[str]) -> Iterator[str]:
    """The symbols with one class in place of another, with back references renumbered."""
    for view in old:
        before, separator, after = symbol.partition(view)
        if separator:
            numbers = sorted({_number(repeat[1]) for repeat in REPEAT.finditer(after)}) or [0]
            for other in new:
                ends = (_shifted(after, first, by) for first in numbers for by in SHIFTS)
                yield from (before + other + end for end in ends)


def _shifted(text: str, first: int, by: int) -> str:
    """A text in which back references from a number on are shifted."""

    def shift(repeat: re.Match[str]) -> str:
        number = _number(repeat[1])
        return f"S{_digits(number + by if number >= first else number)}_"

    return REPEAT.sub(shift, text)


def _number(digits: str) -> int:
    """The number of a back reference: `S_` is the first, `S0_` the second."""
    return int(digits, 36) + 1 if digits else 0


def _digits(number: int) -> str:
    if number <= 0:
        return ""
    high, low = divmod(number - 1, 36)
    return (DIGITS[high] if high else "") + DIGITS[low]
