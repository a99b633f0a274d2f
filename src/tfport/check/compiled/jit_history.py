"""For which types XLA compiles an op, by release: what `tfport ops` shows beside the kernels of the atlas."""

from __future__ import annotations

import itertools
from typing import Any

from tfport.atlas.history import OpHistory
from tfport.atlas.kernel_history import KernelAvailability, sorted_types
from tfport.atlas.release_spans import Span
from tfport.atlas.versions import version_key
from tfport.check.compiled.jit_kernels import JIT_DEVICES, kernels_by_release
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class JitHistory:
    """The kernels of an op for one JIT device."""

    device: str
    recorded: Span
    """The releases whose kernels for the device are recorded."""
    kernels: list[KernelAvailability]

    def to_json(self) -> dict[str, Any]:
        return {
            "device": self.device,
            "recorded": self.recorded.to_json(),
            "kernels": [
                {"types": list(line.types) or None, "releases": [span.to_json() for span in line.releases]}
                for line in self.kernels
            ],
        }


def jit_history(history: OpHistory) -> list[JitHistory]:
    """What XLA compiles of an op; nothing if no recorded release has the op."""
    made = (_on_device(history, device) for device in JIT_DEVICES.values())
    return [on_device for on_device in made if on_device is not None]


def _on_device(history: OpHistory, device: str) -> JitHistory | None:
    by_release = {
        release: kernels.get(history.name, ())
        for release, kernels in sorted(
            kernels_by_release(device).items(), key=lambda item: version_key(item[0])
        )
        if _has_op(history, release)
    }
    if not by_release:
        return None
    releases = list(by_release)
    having: dict[str, list[str]] = {}
    for release, kernels in by_release.items():
        types = {str(t) for k in kernels for t in k.constraints.get(history.type_attr or "") or ("",)}
        for name in types:
            having.setdefault(name, []).append(release)
    groups: dict[tuple[Span, ...], list[str]] = {}
    for name, having_it in sorted(having.items()):
        groups.setdefault(_spans(releases, having_it), []).append(name)
    lines = [
        KernelAvailability(device, tuple(sorted_types(filter(None, types))), "", spans)
        for spans, types in sorted(groups.items(), key=lambda group: releases.index(group[0][0].first))
    ]
    return JitHistory(device, Span(releases[0], releases[-1], open=False), lines)


def _has_op(history: OpHistory, release: str) -> bool:
    key = version_key(release)
    spans = history.stock.releases if history.stock else ()
    return any(
        version_key(span.first) <= key and (span.open or key <= version_key(span.last)) for span in spans
    )


def _spans(releases: list[str], having: list[str]) -> tuple[Span, ...]:
    """The spans of releases that are in `having`; the record says nothing about later ones."""
    rows = [list(row) for has, row in itertools.groupby(releases, having.__contains__) if has]
    return tuple(Span(row[0], row[-1], open=False) for row in rows)
