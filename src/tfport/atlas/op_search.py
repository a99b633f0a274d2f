"""Find ops by name: by a pattern, by similarity, and other versions of the same op (`V2`, `V3`)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tfport.atlas.atlas import TENSORFLOWS, Atlas, has_bit
from tfport.atlas.release_spans import STOCK, Span, on_x86, spans
from tfport.startup.dataclass import dataclass

NUMBERED = re.compile(r"(.+?)(?:V([0-9]+))?")


@dataclass(frozen=True, slots=True)
class OpSummary:
    """One line about an op."""

    name: str
    releases: tuple[Span, ...]
    """Releases of `tensorflow` itself that register it."""
    providers: list[str]
    """Other providers: add-ons, libraries in TensorFlow's wheel, or variants of the package."""


def search_ops(atlas: Atlas, pattern: str) -> list[OpSummary]:
    """Return ops whose names contain `pattern`, or match it if it has `*` or `?`; case is ignored."""
    import fnmatch

    wanted = pattern if set("*?") & set(pattern) else f"*{pattern}*"
    match = re.compile(fnmatch.translate(wanted), re.IGNORECASE).match
    return summaries(atlas, filter(match, atlas.op_names()))


def summaries(atlas: Atlas, names: Iterable[str]) -> list[OpSummary]:
    builds = on_x86(atlas)
    stock = [build for build in builds if build.package == STOCK]
    summary_list = []
    for name in names:
        having: set[int] = set()
        providers: set[str] = set()
        for library, bits in atlas.rows("SELECT provider, builds FROM op WHERE name = ?", name):
            with_op = [build for build in builds if has_bit(bits, build.number)]
            having.update(build.number for build in with_op if not library)
            providers.update(
                library if build.is_tensorflow and library else build.package for build in with_op
            )
        releases = spans(stock, having)
        summary_list.append(
            OpSummary(name, releases, sorted(providers - set(TENSORFLOWS if releases else ())))
        )
    return summary_list


def suggestions(atlas: Atlas, name: str, most: int = 3) -> list[str]:
    """Return recorded ops with similar names; case is ignored."""
    import difflib

    known: dict[str, list[str]] = {}
    for op in atlas.op_names():
        known.setdefault(op.lower(), []).append(op)
    close = difflib.get_close_matches(name.lower(), known, n=most)
    return [op for lowered in close for op in known[lowered]][:most]


def later_ops(atlas: Atlas, name: str) -> dict[str, str]:
    """Return newer versions of an op, and the first TensorFlow release with each."""
    base, number = _numbered(name)
    query = "SELECT DISTINCT name FROM op WHERE name > ? AND name < ?"
    others = {op: _numbered(op) for (op,) in atlas.rows(query, f"{base}V", f"{base}W")}
    later = sorted((n, op) for op, (its_base, n) in others.items() if its_base == base and n > number)
    return {s.name: s.releases[0].first for s in summaries(atlas, (op for _, op in later)) if s.releases}


def earlier_ops(name: str) -> list[str]:
    """Return the names of older versions of an op, the newest first."""
    base, number = _numbered(name)
    return [f"{base}V{n}" if n > 1 else base for n in range(number - 1, 0, -1)]


def _numbered(name: str) -> tuple[str, int]:
    """Split `BatchMatMulV2` into `BatchMatMul` and 2; without a number it is version 1."""
    match = NUMBERED.fullmatch(name)
    return (match[1], int(match[2] or 1)) if match else (name, 1)
