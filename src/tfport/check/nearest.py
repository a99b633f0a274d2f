"""Find the nearest releases, below and above a target, on which the whole model runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from tfport.atlas.resolve.releases import release_of, releases
from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.target import CONVERTER_KIND, KERAS_KIND, LITE_KIND, TFJS_KIND, Target
from tfport.atlas.versions import version_key
from tfport.check.check import runs_on
from tfport.check.checked_model import CheckedModel
from tfport.errors import Error
from tfport.startup.dataclass import dataclass, replace

PACKAGES = (CONVERTER_KIND, KERAS_KIND, LITE_KIND, TFJS_KIND)
"""Kinds of targets that are one package without TensorFlow."""
SERVING = "tensorflow-serving>=1.0"
MOST_OPS = 4


@dataclass(frozen=True, slots=True)
class NearestReleases:
    """Replacements for a target; None if there is no such release."""

    below: Target | None
    above: Target | None
    stock: Target | None = None
    """The release of which the target is a reduced build, if the model runs there."""
    lacking: tuple[str, ...] = ()
    """The ops of the model that the stock release has and the reduced build has not."""

    @property
    def releases(self) -> list[Target]:
        """The releases to use instead, the newer one first."""
        return [release for release in (self.stock, self.above, self.below) if release is not None]

    @property
    def ways_out(self) -> list[str]:
        """The advice to use them."""
        if self.stock is not None:
            return [f"use stock {self.stock.requirement}, which runs the model: {self._lacks()}"]
        if not self.releases:
            return []
        verb = "convert" if self.releases[0].kind == CONVERTER_KIND else "run"
        which = f"release that {verb}s" if len(self.releases) == 1 else f"releases that {verb}"
        names = " or ".join(release.requirement for release in self.releases)
        return [f"use {names}, the nearest {which} the model"]

    def _lacks(self) -> str:
        more = len(self.lacking) - MOST_OPS
        rest = f" and {more:,} more op{'s' * (more != 1)}" if more > 0 else ""
        return f"the reduced build lacks {', '.join(self.lacking[:MOST_OPS]) or 'kernels'}{rest}"


def nearest_releases(
    subject: CheckedModel, target: Target, loaders: Sequence[str], *, soft_placement: bool | None = None
) -> NearestReleases:
    """The nearest releases on which a model runs with the same loaders and device.

    A release that runs it but ignores an attribute is none of them: its outputs may differ.
    """
    here = version_key(release_of(target) or "0")
    around = _series(target)
    older = [release for release in reversed(around) if version_key(release_of(release)) < here]
    newer = [release for release in around if version_key(release_of(release)) > here]

    def first(releases: Iterable[Target]) -> Target | None:
        candidates = (
            replace(
                target.add_libraries(candidate) if target.add_libraries is not None else candidate,
                capability=target.capability,
                delegate=target.delegate,
            )
            for release in releases
            for candidate in _with_addons(release, target)
        )
        return next((candidate for candidate in candidates if runs(candidate)), None)

    def runs(candidate: Target) -> bool:
        return all(
            runs_on(subject, candidate, loader, soft_placement=soft_placement, as_written=True)
            for loader in dict.fromkeys(loaders)
        )

    if target.kind == "reduced":
        same = [release for release in around if version_key(release_of(release)) == here]
        if (stock := first(same)) is not None:
            ops = {usage.op for usage in subject.usages}
            lacking = sorted(op for op in ops if op not in target.registry and op in stock.registry)
            return NearestReleases(None, None, stock, tuple(lacking))
    return NearestReleases(first(older), first(newer))


def _series(target: Target) -> list[Target]:
    """The releases of the target's package: the final ones of TensorFlow, those of Serving or a Keras, …"""
    if target.kind in PACKAGES:
        package, is_release, _ = target.requirement.partition("==")
        if not is_release:
            return []  # a build of one's own
        return resolve_targets(f"{package}>=0")
    if target.kind == "serving":
        return resolve_targets(SERVING, device=target.device)
    return releases(target.device)


def _with_addons(release: Target, target: Target) -> list[Target]:
    """A release with the add-ons of a target; empty if they are incompatible."""
    if target.kind in ("serving", *PACKAGES) or not target.addons:
        return [release]
    requirement = " ".join((release.requirement, *(addon.package for addon in target.addons)))
    with suppress(Error):
        return resolve_targets(requirement, device=target.device)
    return []
