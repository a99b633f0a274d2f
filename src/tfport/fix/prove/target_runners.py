"""The target itself as a runner of a verification: a Python that the user names, or its wheel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.target import KERAS_KIND, LITE_KIND, Target
from tfport.fix.certify.other_runner import OtherRunner
from tfport.fix.options import FixOptions
from tfport.fix.prove.environments import CannotProve, PackageRelease, dependencies, release_environment

RUNS = 10
"""How often a proof runs the rewritten model, if the user does not say."""
PROVABLE = ("tensorflow", KERAS_KIND, LITE_KIND)


def target_runners(
    runner: type[OtherRunner],
    target: Target,
    options: FixOptions,
    progress: Callable[[str], None] = lambda doing: None,
) -> list[OtherRunner]:
    """The runners of a target: none if the user asks neither for a proof nor for a Python."""
    runs = options.runs or (RUNS if options.prove else 1)
    release = _release(runner, target)
    expected = runner.version_of(target)
    if options.pythons:
        return [runner(python, is_target=True, runs=runs, expected=expected) for python in options.pythons]
    if not options.prove:
        return []
    environment = release_environment(_provable(release, target), progress)
    return [runner(environment.python, is_target=True, runs=runs, expected=expected, wheel=environment.wheel)]


def is_provable(target: Target) -> bool:
    """Whether a proof can run a target: it has a wheel, and is nothing more than that."""
    return target.kind in PROVABLE and not target.addons and not target.libraries


def _release(runner: type[OtherRunner], target: Target) -> PackageRelease | None:
    """The release that runs models of this kind on a target."""
    if (needed := runner.release_of(target)) is None:
        return None
    package, version = needed
    return PackageRelease(package, version, _pythons(package, version, target))


def _pythons(package: str, version: str, target: Target) -> Sequence[str]:
    """The Python versions of a release, or of the TensorFlow that is installed with it."""
    build = target.build
    if build is None or (build.package, build.version) != (package, version):
        named = [name for name in dependencies(package, version) if name.startswith("tensorflow==")]
        build = resolve_targets(named[0].removesuffix(".*"))[0].build if named else None
    return (build.facts.get("pythons") or ()) if build is not None else ()


def _provable(release: PackageRelease | None, target: Target) -> PackageRelease:
    if release is None or target.kind not in PROVABLE:
        raise CannotProve(
            f"{target.name}: --prove runs releases that have a wheel on the package index, which this target "
            "does not have; name a Python that has it with --target-python"
        )
    if target.addons or target.libraries:
        raise CannotProve(
            f"{target.name}: --prove does not load add-on packages and libraries of custom ops; leave it out"
        )
    return release
