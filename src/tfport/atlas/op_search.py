"""Ops by name: those that match a pattern, those that are close, and those with a higher number."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tfport.atlas.atlas import TENSORFLOWS, Atlas, has_bit
from tfport.atlas.release_spans import STOCK, Span, on_x86, spans

NUMBERED = re.compile(r"(.+?)(?:V([0-9]+))?")


@dataclass(frozen=True, slots=True)
class OpSummary:
    """An op in one line."""

    name: str
    releases: tuple[Span, ...]
    """Where `tensorflow` itself registers it."""
    providers: list[str]
    """Others who bring it: add-ons, libraries in TensorFlow's wheel, or only its other packages."""


def search_ops(atlas: Atlas, pattern: str) -> list[OpSummary]:
    """Ops whose names contain `pattern`, or match it where it has `*` or `?`; case does not count."""
    import fnmatch

    wanted = pattern if set("*?") & set(pattern) else f"*{pattern}*"
    match = re.compile(fnmatch.translate(wanted), re.IGNORECASE).match
    return summaries(atlas, filter(match, atlas.op_names()))


def summaries(atlas: Atlas, names: Iterable[str]) -> list[OpSummary]:
    builds = on_x86(atlas)
    stock = [build for build in builds if build.package == STOCK]
    found = []
    for name in names:
        having: set[int] = set()
        providers: set[str] = set()
        for library, bits in atlas.rows("SELECT provider, builds FROM op WHERE name = ?", name):
            there = [build for build in builds if has_bit(bits, build.number)]
            having.update(build.number for build in there if not library)
            providers.update(library if build.is_tensorflow and library else build.package for build in there)
        releases = spans(stock, having)
        found.append(OpSummary(name, releases, sorted(providers - set(TENSORFLOWS if releases else ()))))
    return found


def suggestions(atlas: Atlas, name: str, most: int = 3) -> list[str]:
    """Recorded ops whose names are close to one that is not recorded; case does not count."""
    import difflib

    known: dict[str, list[str]] = {}
    for op in atlas.op_names():
        known.setdefault(op.lower(), []).append(op)
    close = difflib.get_close_matches(name.lower(), known, n=most)
    return [op for lowered in close for op in known[lowered]][:most]


def later_ops(atlas: Atlas, name: str) -> dict[str, str]:
    """Ops of the same name with a higher number, and the first release of TensorFlow with each."""
    base, number = _numbered(name)
    query = "SELECT DISTINCT name FROM op WHERE name > ? AND name < ?"
    others = {op: _numbered(op) for (op,) in atlas.rows(query, f"{base}V", f"{base}W")}
    later = sorted((n, op) for op, (its_base, n) in others.items() if its_base == base and n > number)
    return {s.name: s.releases[0].first for s in summaries(atlas, (op for _, op in later)) if s.releases}


def earlier_ops(name: str) -> list[str]:
    """The names that ops of the same name with a lower number would have, the highest first."""
    base, number = _numbered(name)
    return [f"{base}V{n}" if n > 1 else base for n in range(number - 1, 0, -1)]


def _numbered(name: str) -> tuple[str, int]:
    """`BatchMatMulV2` as `BatchMatMul` and 2; what has no number is the first."""
    found = NUMBERED.fullmatch(name)
    return (found[1], int(found[2] or 1)) if found else (name, 1)
