"""Why a Keras release does not accept something, from the record of all releases, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from tfport.atlas.keras_releases import INNER, KERAS, TENSORFLOW, TF_KERAS, KerasRelease, keras_releases
from tfport.check.findings.keras_files import (
    KerasFileFinding,
    UnknownKerasArgument,
    UnknownKerasClass,
    UnknownKerasObject,
)

CUSTOM = 'pass it to the loader: `load_model(PATH, custom_objects={{"{name}": {name}}})`'
LISTED = (KERAS, TF_KERAS, TENSORFLOW)
"""The packages that an explanation names, in this order."""
KINDS = {"activation function": "activation", "dtype policy": "policy"}


def explain(finding: KerasFileFinding) -> None:
    """Add the cause and the ways out that the record of releases gives."""
    if isinstance(finding, UnknownKerasClass):
        name = finding.class_name
        known = _releases_with(lambda release: any(release.find(kind, name) for kind in ("layer", INNER)))
        finding.why = (
            f"{name} is in {known}" if known else f"no recorded release of Keras has {name}: a custom class"
        )
        finding.ways = () if known else (CUSTOM.format(name=name),)
    elif isinstance(finding, UnknownKerasArgument):
        name, argument = finding.class_name, finding.argument
        known = _releases_with(lambda release: _takes(release, name, argument))
        finding.why = f"{name} takes `{argument}` in {known}" if known else ""
    elif isinstance(finding, UnknownKerasObject):
        name, kind = finding.object_name, KINDS.get(finding.kind, finding.kind)
        if kind in ("function",):
            kind = "activation"
        known = _releases_with(lambda release: release.find(kind, name) is not None)
        finding.why = (
            f"`{name}` is in {known}" if known else f"no recorded release of Keras has the {finding.kind}"
        )
        finding.ways = () if known else (CUSTOM.format(name=name.strip("<>")),)


def _takes(release: KerasRelease, name: str, argument: str) -> bool:
    for kind in ("layer", "initializer", "regularizer", "constraint"):
        known = release.find(kind, name)
        if known is not None:
            return argument in known.arguments or argument in known.earlier
    return False


def _releases_with(has: Callable[[KerasRelease], bool]) -> str:
    """The releases for which something holds: `keras 2.3.0 to 2.15.0, tensorflow 1.4.1 to 2.5.3`."""
    phrases = []
    for package in LISTED:
        releases = keras_releases(package)
        spans = []
        for holds, group in groupby(releases, has):
            if holds:
                members = list(group)
                first, last = members[0].version, members[-1].version
                newest = members[-1] is releases[-1] and package != TENSORFLOW
                spans.append(f"since {first}" if newest and first != last else _span(first, last))
        if spans:
            phrases.append(f"{package} {', '.join(spans)}")
    return "; ".join(phrases)


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"
