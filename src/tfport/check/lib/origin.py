"""Which TensorFlow was a library built against, and how is that known?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from tfport.atlas.atlas import atlas
from tfport.atlas.spans import STOCK, Span, spans, spans_text
from tfport.atlas.symbols import symbols
from tfport.check.explain.symbols import ABSEIL
from tfport.check.lib.closure import DependencyClosure
from tfport.check.lib.tensorflow_libraries import releases_with
from tfport.check.lib.visible_symbols import visible_symbols
from tfport.formats.elf.mangling import demangled, owner

OWNERS = frozenset(("tensorflow", "tsl", "xla", "absl", "google", "stream_executor", "mlir"))
C_API = ("TF_", "TFE_", "TSL_", "SE_", "SP_")


def is_of_tensorflow(symbol: str) -> bool:
    """Whether a symbol is in the names that TensorFlow and what is built into it use."""
    return symbol.startswith(C_API) or owner(symbol) in OWNERS


@dataclass
class BuildOrigin:
    """What a library needs of TensorFlow, and which releases have it."""

    closure: DependencyClosure
    machine: str
    exporters: dict[str, frozenset[str]] = field(default_factory=dict)
    """For each strong symbol that nothing it brings defines, the builds that export it."""

    @cached_property
    def of_tensorflow(self) -> list[str]:
        """The symbols that it needs of TensorFlow: of its names, or such as some release exports."""
        return [name for name, having in self.exporters.items() if having or is_of_tensorflow(name)]

    @cached_property
    def loading(self) -> frozenset[str]:
        """The builds that export all that some build exports, by their names in the records."""
        sets = [having for having in self.exporters.values() if having]
        return frozenset.intersection(*sets) if sets else frozenset()

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The releases of stock TensorFlow among those."""
        stock = atlas().builds(STOCK, self.machine)
        linked = self.closure.of_tensorflow
        return spans(
            stock, {b.number for b in stock if visible_symbols(b, self.machine, linked) in self.loading}
        )

    @cached_property
    def abseil(self) -> str:
        """The date in the names of Abseil's symbols; empty where there are none."""
        found = {m[1] for name in self.exporters if (m := ABSEIL.search(name))}
        return max(found, default="")

    @cached_property
    def cxx11_abi(self) -> bool | None:
        """Which strings it was compiled with; None where no symbol of TensorFlow tells."""
        names = [name for name in self.of_tensorflow if name.startswith("_Z")]
        if any("NSt7__cxx11" in name or "B5cxx11" in name for name in names):
            return True
        # of the old ones the name is short
        return False if any("std::string" in demangled(name) for name in names) else None

    def evidence(self) -> list[str]:
        """How it is known, in words."""
        found = []
        if self.spans:
            count = len([name for name, having in self.exporters.items() if having])
            found.append(f"TensorFlow {spans_text(self.spans)} (has all {count} symbols that it needs)")
        if self.abseil:
            found.append(f"Abseil lts_{self.abseil}")
        if self.cxx11_abi is not None:
            found.append(f"_GLIBCXX_USE_CXX11_ABI={int(self.cxx11_abi)}")
        for name in self.closure.of_tensorflow:
            if released := releases_with(name):
                found.append(f"{name} (TensorFlow {released})")
        return found


def origin_of(closure: DependencyClosure, machine: str) -> BuildOrigin:
    wanted: Iterable[str] = dict.fromkeys(u.name for one in closure.own() for u in closure.wanted(one))
    return BuildOrigin(closure, machine, {name: symbols().exporters(name) for name in wanted})
