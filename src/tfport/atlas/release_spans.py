"""Spans of consecutive releases: `since 2.1.0`, `1.15.0 to 2.4.4`."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Sequence

from tfport.atlas.atlas import ARM, Atlas, Build
from tfport.startup.dataclass import dataclass

STOCK = "tensorflow"


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive recorded releases."""

    first: str
    last: str
    open: bool
    """Whether the last one is the newest recorded release of a package that is still published."""

    def __str__(self) -> str:
        if self.open:
            return f"since {self.first}"
        return self.first if self.first == self.last else f"{self.first} to {self.last}"

    def to_json(self) -> dict[str, str]:
        return {"first": self.first, "last": self.last}


@functools.lru_cache(maxsize=64)  # sorting release numbers is slow
def on_x86(atlas: Atlas, package: str | None = None) -> tuple[Build, ...]:
    """Return the builds for x86-64, the oldest first; includes platform-independent add-ons."""
    return tuple(build for build in atlas.builds(package, platform=None) if ARM not in build.platform)


def spans(all_builds: Sequence[Build], having: Collection[int]) -> tuple[Span, ...]:
    """Return the spans of `all_builds`, the oldest first, whose numbers are in `having`."""
    rows: list[list[Build]] = []
    row: list[Build] | None = None
    for build in all_builds:
        if build.number not in having:
            row = None
        elif row is None:
            rows.append(row := [build])
        else:
            row.append(build)
    return tuple(Span(r[0].version, r[-1].version, _is_open(r[-1], all_builds)) for r in rows)


def _is_open(build: Build, all_builds: Sequence[Build]) -> bool:
    # from 2.1 on, tensorflow-gpu is tensorflow under another name
    return build is all_builds[-1] and (build.package == STOCK or not build.is_tensorflow)


def spans_text(all_spans: Iterable[Span]) -> str:
    return ", ".join(map(str, all_spans))
