"""Compare the machine, the C and C++ libraries and CUDA of two environments."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.atlas import ARM, Build
from tfport.atlas.compute_capability import runs_natively
from tfport.atlas.environment import Environment
from tfport.atlas.versions import version_key
from tfport.check.env.difference import NONE, UNKNOWN, EnvironmentDifference, difference
from tfport.check.explain.cuda import ONE_FOR_ALL_MINORS, cuda_of

RUNTIMES = {"glibc": "GLIBC", "glibcxx": "GLIBCXX", "cxxabi": "CXXABI"}
CUDA = {"cudart": ("version", "CUDA"), "cudnn": ("cudnn", "cuDNN")}
"""CUDA libraries, each with its build fact and its usual name."""


def system_differs(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    yield from _machine(build, runtime)
    yield from _libc(build, runtime)
    for fact in RUNTIMES:
        yield from _runtime(fact, build, runtime)
    for library in CUDA:
        yield from _cuda_library(library, build, runtime)
    yield from _cuda_builds(build, runtime)


def machine_of(environment: Environment) -> str:
    """The architecture that an environment or its ARM64 build declares; empty if none."""
    tensorflow = _tensorflow(environment)
    return environment.system.machine or (ARM if tensorflow and tensorflow.platform == ARM else "")


def _machine(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    here, there = machine_of(build), machine_of(runtime)
    if here and there and here != there:
        yield difference("machine-other", "machine", here, there)


def _tensorflow(environment: Environment) -> Build | None:
    return environment.target.build if environment.target else None


def _libc(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    tensorflow = _tensorflow(runtime)
    if tensorflow and runtime.system.libc == "musl" and build.system.libc != "musl":
        here = build.system.libc or UNKNOWN
        yield difference("no-glibc", "C library", here, "musl", tensorflow=tensorflow.name)


def _runtime(fact: str, build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    """Compare GLIBC, GLIBCXX or CXXABI with what TensorFlow needs and with the other system."""
    here, there = getattr(build.system, fact), getattr(runtime.system, fact)
    if not there:
        return
    tensorflow, name = _tensorflow(runtime), RUNTIMES[fact]
    floor = tensorflow.facts.get(fact) if tensorflow else None
    if tensorflow and floor and version_key(there) < version_key(floor):
        values = {"tensorflow": tensorflow.name, "library": name, "floor": floor}
        yield difference("below-floor", name, here or UNKNOWN, there, **values)
    elif here and version_key(here) > version_key(there):
        yield difference("system-older", name, here, there, library=name)


def _cuda_library(library: str, build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    """Compare an installed CUDA library with the version that TensorFlow was built with."""
    here, there = build.cuda.get(library, ""), runtime.cuda.get(library, "")
    fact, name = CUDA[library]
    tensorflow = _tensorflow(runtime)
    required = cuda_of(tensorflow.facts).get(fact) if tensorflow else None
    mismatch = there and required and not same_cuda(required, there, by_major=library == "cudnn")
    if tensorflow and mismatch and has_gpus(runtime):
        yield difference(
            "cuda-unfit", name, here or UNKNOWN, there,
            tensorflow=tensorflow.name, library=name, wants=required,
        )  # fmt: skip
    elif here and not there and has_gpus(build):
        yield difference("cuda-missing", name, here, NONE, library=name)


def same_cuda(required: str, installed: str, *, by_major: bool) -> bool:
    """Whether an installed library has the file name that a build opens.

    Since CUDA 11 the name contains only the major version.
    """
    needed, found_version = version_key(required).release, version_key(installed).release
    exact = 1 if by_major or needed[0] >= ONE_FOR_ALL_MINORS else 2
    return needed[:exact] == found_version[:exact]


def _cuda_builds(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    """Compare the CUDA versions and GPU code of two TensorFlow builds, if GPUs are used."""
    here, there = _tensorflow(build), _tensorflow(runtime)
    if here is None or there is None or here is there or not (has_gpus(build) or has_gpus(runtime)):
        return
    before, after = cuda_of(here.facts), cuda_of(there.facts)
    old, new = before.get("version"), after.get("version")
    if old and new and not same_cuda(new, old, by_major=False):
        yield difference("cuda-sonames", "CUDA", old, new, tensorflow=there.name)
    codes, left = before.get("sass") or [], after.get("sass") or []
    lost = [code for code in codes if left and not runs_natively(left, code)]
    if lost:
        sides = (", ".join(codes), ", ".join(left))
        yield difference(
            "capabilities-lost", "compute capability", *sides, lost=", ".join(lost), tensorflow=there.name
        )


def has_gpus(environment: Environment) -> bool:
    """Whether an environment uses GPUs, by its packages or by request."""
    target = environment.target
    return target is not None and target.device == "gpu"
