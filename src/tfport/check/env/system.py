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
    first, second = machine_of(build), machine_of(runtime)
    if first and second and first != second:
        yield difference("machine-other", "machine", first, second)


def _tensorflow(environment: Environment) -> Build | None:
    return environment.target.build if environment.target else None


def _libc(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    tensorflow = _tensorflow(runtime)
    if tensorflow and runtime.system.libc == "musl" and build.system.libc != "musl":
        first = build.system.libc or UNKNOWN
        yield difference("no-glibc", "C library", first, "musl", tensorflow=tensorflow.name)


def _runtime(fact: str, build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    """Compare GLIBC, GLIBCXX or CXXABI with what TensorFlow needs and with the other system."""
    first, second = getattr(build.system, fact), getattr(runtime.system, fact)
    if not second:
        return
    tensorflow, name = _tensorflow(runtime), RUNTIMES[fact]
    floor = tensorflow.facts.get(fact) if tensorflow else None
    if tensorflow and floor and version_key(second) < version_key(floor):
        values = {"tensorflow": tensorflow.name, "library": name, "floor": floor}
        yield difference("below-floor", name, first or UNKNOWN, second, **values)
    elif first and version_key(first) > version_key(second):
        yield difference("system-older", name, first, second, library=name)


def _cuda_library(library: str, build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    """Compare an installed CUDA library with the version that TensorFlow was built with."""
    first, second = build.cuda.get(library, ""), runtime.cuda.get(library, "")
    fact, name = CUDA[library]
    tensorflow = _tensorflow(runtime)
    required = cuda_of(tensorflow.facts).get(fact) if tensorflow else None
    mismatch = second and required and not same_cuda(required, second, by_major=library == "cudnn")
    if tensorflow and mismatch and has_gpus(runtime):
        yield difference(
            "cuda-unfit", name, first or UNKNOWN, second,
            tensorflow=tensorflow.name, library=name, required=required,
        )  # fmt: skip
    elif first and not second and has_gpus(build):
        yield difference("cuda-missing", name, first, NONE, library=name)


def same_cuda(required: str, installed: str, *, by_major: bool) -> bool:
    """Whether an installed library has the file name that a build opens.

    Since CUDA 11 the name contains only the major version.
    """
    needed, present = version_key(required).release, version_key(installed).release
    exact = 1 if by_major or needed[0] >= ONE_FOR_ALL_MINORS else 2
    return needed[:exact] == present[:exact]


def _cuda_builds(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    """Compare the CUDA versions and GPU code of two TensorFlow builds, if GPUs are used."""
    first, second = _tensorflow(build), _tensorflow(runtime)
    if first is None or second is None or first is second or not (has_gpus(build) or has_gpus(runtime)):
        return
    before, after = cuda_of(first.facts), cuda_of(second.facts)
    old, new = before.get("version"), after.get("version")
    if old and new and not same_cuda(new, old, by_major=False):
        yield difference("cuda-sonames", "CUDA", old, new, tensorflow=second.name)
    codes, left = before.get("sass") or [], after.get("sass") or []
    lost = [code for code in codes if left and not runs_natively(left, code)]
    if lost:
        sides = (", ".join(codes), ", ".join(left))
        yield difference(
            "capabilities-lost", "compute capability", *sides, lost=", ".join(lost), tensorflow=second.name
        )


def has_gpus(environment: Environment) -> bool:
    """Whether an environment uses GPUs, by its packages or by request."""
    target = environment.target
    return target is not None and target.device == "gpu"
