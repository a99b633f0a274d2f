"""Compare Keras, Python, numpy and protobuf of two environments."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.environment import Environment
from tfport.env.conflicts import allowed_versions, major_of
from tfport.env.difference import EnvironmentDifference, addon_advice, difference

MAJOR_DIFFERS = {"numpy": "numpy-abi", "protobuf": "protobuf-major"}
KERAS_3 = 3


def python_differs(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    yield from _keras(build, runtime)
    yield from _python(build, runtime)
    for package in MAJOR_DIFFERS:
        yield from _major(package, build, runtime)


def keras_of(environment: Environment) -> tuple[int, str]:
    """The generation of Keras (0 if unknown) and its description."""
    if version := environment.version("keras"):
        return major_of(version), version
    target = environment.target
    tensorflow = target.build if target and target.kind != "serving" else None
    if tensorflow is None:
        return 0, ""
    allowed = allowed_versions(tensorflow, "keras", environment.python)
    newer = any(versions.contains(f"{KERAS_3}.99", prereleases=True) for versions in allowed)
    generation = KERAS_3 if newer else KERAS_3 - 1
    return generation, f"{generation}, with {tensorflow.name}"


def _keras(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    (before, build_text), (after, runtime_text) = keras_of(build), keras_of(runtime)
    if not before or not after or before == after:
        return
    if after < before:
        yield difference("keras-2", "Keras", build_text, runtime_text)
    else:
        name = "keras-3-with-tf-keras" if "tf-keras" in runtime.packages else "keras-3"
        tensorflow = runtime.target.build if runtime.target else None
        advice = (
            addon_advice("tf-keras", tensorflow, runtime.python) if tensorflow else "pip install tf_keras"
        )
        yield difference(name, "Keras", build_text, runtime_text, advice=advice)


def _python(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    if build.python and runtime.python and build.python != runtime.python:
        yield difference("python-other", "Python", build.python, runtime.python)


def _major(package: str, build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    before, after = build.version(package), runtime.version(package)
    if before and after and major_of(before) != major_of(after):
        yield difference(MAJOR_DIFFERS[package], package, before, after)
