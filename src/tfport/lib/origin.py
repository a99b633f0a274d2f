"""Find the TensorFlow release that a library was built against, from the symbols it needs.

Before 1.4 and since 2.20, Python loads TensorFlow so that every library sees all its symbols.
In between, a library sees only the symbols of the TensorFlow libraries that it links to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property

from tfport.atlas.atlas import ARM, Build, atlas
from tfport.atlas.cxx_abi import ABSEIL, ABSEILS
from tfport.atlas.release_spans import STOCK, Span, spans, spans_text
from tfport.atlas.symbols import symbols
from tfport.atlas.versions import version_key
from tfport.formats.elf.mangling import demangled, owner
from tfport.lib.closure import DependencyClosure
from tfport.lib.host_system import PROGRAM
from tfport.lib.tensorflow_libraries import FRAMEWORK, NEEDED, releases_with
from tfport.startup.dataclass import dataclass, field

OWNERS = frozenset(("tensorflow", "tsl", "xla", "absl", "google", "stream_executor", "mlir"))
C_API = ("TF_", "TFE_", "TSL_", "SE_", "SP_")


NOW = "_ZN4absl12lts_{}3NowEv"
"""`absl::Now`, which every release with a version of Abseil exports."""


def newest_release() -> str:
    """The newest recorded release of TensorFlow."""
    return atlas().builds(STOCK)[-1].version


def abseil_releases(version: str) -> tuple[Span, ...]:
    """The releases that were built with a version of Abseil."""
    stock = atlas().builds(STOCK)
    having = symbols().exporters(NOW.format(version))
    return spans(stock, {build.number for build in stock if build.requirement in having})


def is_of_tensorflow(symbol: str) -> bool:
    """Whether a symbol belongs to TensorFlow or to a library built into it, by its name."""
    return symbol.startswith(C_API) or owner(symbol) in OWNERS


@dataclass
class BuildOrigin:
    """The TensorFlow symbols that a library needs, and the releases that export them."""

    closure: DependencyClosure
    machine: str
    exporters: dict[str, frozenset[str]] = field(default_factory=dict)
    """For each undefined strong symbol, the builds that export it."""

    @cached_property
    def of_tensorflow(self) -> list[str]:
        """The needed symbols that belong to TensorFlow or that some release exports."""
        return [name for name, having in self.exporters.items() if having or is_of_tensorflow(name)]

    @cached_property
    def matching_builds(self) -> frozenset[str]:
        """The recorded names of the builds that export every needed symbol that any build exports."""
        sets = [having for having in self.exporters.values() if having]
        return frozenset.intersection(*sets) if sets else frozenset()

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The stock TensorFlow releases among the matching builds; none if it was built for a newer one."""
        if self.is_newer:
            return ()
        stock = atlas().builds(STOCK, self.machine)
        linked = self.closure.of_tensorflow
        return spans(
            stock,
            {b.number for b in stock if visible_symbols(b, self.machine, linked) in self.matching_builds},
        )

    @cached_property
    def abseil(self) -> str:
        """The date in the names of Abseil's symbols; empty if there are none."""
        dates = {m[1] for name in self.exporters if (m := ABSEIL.search(name))}
        return max(dates, default="")

    @cached_property
    def is_newer(self) -> bool:
        """Whether it was compiled with an Abseil that is newer than that of every recorded release."""
        return self.abseil > max(ABSEILS)

    @cached_property
    def cxx11_abi(self) -> bool | None:
        """Whether it was compiled with the new string ABI; None if no TensorFlow symbol shows it."""
        names = [name for name in self.of_tensorflow if name.startswith("_Z")]
        if any("NSt7__cxx11" in name or "B5cxx11" in name for name in names):
            return True
        # the old ABI has the short name
        return False if any("std::string" in demangled(name) for name in names) else None

    def describe(self) -> list[str]:
        """The release, Abseil version and ABI that the symbols show, as sentences."""
        facts = []
        if self.spans:
            count = len([name for name, having in self.exporters.items() if having])
            facts.append(f"TensorFlow {spans_text(self.spans)} (exports all {count} symbols that it needs)")
        if self.is_newer:
            facts.append(f"a TensorFlow newer than {newest_release()}")
        if self.abseil:
            facts.append(f"Abseil lts_{self.abseil}")
        if self.cxx11_abi is not None:
            facts.append(f"_GLIBCXX_USE_CXX11_ABI={int(self.cxx11_abi)}")
        for name in self.closure.of_tensorflow:
            if released := releases_with(name):
                facts.append(f"{name} (TensorFlow {released})")
        return facts


def origin_of(closure: DependencyClosure, machine: str) -> BuildOrigin:
    needed: Iterable[str] = dict.fromkeys(
        symbol.name for loaded in closure.own_libraries() for symbol in closure.undefined(loaded, NEEDED)
    )
    return BuildOrigin(closure, machine, {name: symbols().exporters(name) for name in needed})


# The TensorFlow symbols that a library can use in a process.

HIDDEN_SINCE, HIDDEN_UNTIL = "1.4", "2.20"
FRAMEWORK_ONLY = " framework"
"""The suffix of recorded names for the symbols that `libtensorflow_framework` alone exports."""


def has_global_symbols(release: str) -> bool:
    """Whether every library of a process sees the symbols of a release."""
    return not version_key(HIDDEN_SINCE) <= version_key(release) < version_key(HIDDEN_UNTIL)


def symbols_name(build: Build, machine: str) -> str:
    """The recorded name of all symbols of a build."""
    return f"{build.requirement} ({ARM})" if machine == ARM else build.requirement


def visible_symbols(build: Build, machine: str, linked: Collection[str]) -> str | None:
    """The recorded name of the symbols that a library sees, given the TensorFlow libraries it links to."""
    whole = symbols_name(build, machine)
    if has_global_symbols(build.version):
        return whole
    if not linked:
        return None
    part = whole + FRAMEWORK_ONLY
    return part if all(map(FRAMEWORK.fullmatch, linked)) and part in symbols().builds else whole


def process_libraries(build: Build, machine: str, linked: Collection[str]) -> tuple[str, ...]:
    """The system libraries that a process with a build offers to a library, given what it links to."""
    return PROGRAM if visible_symbols(build, machine, linked) is None else NEEDED
