"""Settings of a check (device, loader, signature), and short labels for groups of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from tfport.check.check import RUNS
from tfport.matrix.matrix import Strip, joined

MOST = 3


class Setting(NamedTuple):
    """A device, a loader and a signature."""

    device: str
    loader: str
    signature: str


def settings_of(strips: Iterable[Strip]) -> list[Setting]:
    return [Setting(strip.device, strip.loader, name) for strip in strips for name in strip.signatures]


def by_outline(strips: Iterable[Strip]) -> list[tuple[list[Setting], Strip]]:
    """Strips without duplicates, each with the settings that share it."""
    groups: dict[object, list[Strip]] = {}
    for strip in strips:
        groups.setdefault(strip.outline, []).append(strip)
    return [(settings_of(same), same[0]) for same in groups.values()]


def label(settings: Sequence[Setting], every: Sequence[Setting]) -> str:
    """A label that distinguishes settings from the others; device and loader if there are no others."""
    return "; ".join(filter(None, among(settings, every))) or ", ".join(_words(settings)[:2])


def among(settings: Sequence[Setting], every: Sequence[Setting]) -> list[str]:
    """The shortest labels that distinguish settings from the others; an empty label for all of them."""
    some = [list(dict.fromkeys(values)) for values in zip(*settings, strict=True)]
    if set(every).intersection(product(*some)) == set(settings):
        labels = zip(_words(settings), _words(every), strict=True)
        return [", ".join(words for words, of_all in labels if words != of_all)]
    axis = next(i for i, values in enumerate(some) if len(values) > 1)
    parts = ([setting for setting in settings if setting[axis] == value] for value in some[axis])
    return [words for part in parts for words in among(part, every)]


def running(strips: Sequence[Strip]) -> list[tuple[str, str]]:
    """The releases on which a model runs, each with its settings."""
    groups: dict[str, list[Setting]] = {}
    for strip in strips:
        when = joined(strip.where(lambda cell: cell.verdict == RUNS))
        groups.setdefault(when or "nowhere", []).extend(settings_of([strip]))
    return [
        (when, where) for when, settings in groups.items() for where in among(settings, settings_of(strips))
    ]


def _words(settings: Sequence[Setting]) -> list[str]:
    """The devices, loaders and signatures of settings, as text."""
    devices, loaders, signatures = (list(dict.fromkeys(values)) for values in zip(*settings, strict=True))
    return [listed([device.upper() for device in devices]), listed(loaders), listed(signatures)]


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b, c and 5 more`."""
    shown = list(names) if len(names) <= MOST + 1 else [*names[:MOST], f"{len(names) - MOST} more"]
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
