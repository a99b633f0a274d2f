"""Compare the machine, the C and C++ libraries and CUDA of two environments."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.atlas import ARM, Build
from tfport.atlas.cuda import ONE_FOR_ALL_MINORS, cuda_of, runs_natively
from tfport.atlas.environment import Environment
from tfport.atlas.versions import version_key
from tfport.env.difference import NONE, EnvironmentDifference, difference

RUNTIMES = {"glibc": "GLIBC", "glibcxx": "GLIBCXX", "cxxabi": "CXXABI"}
CUDA = {"cudart": ("version", "CUDA"), "cudnn": ("cudnn", "cuDNN")}
"""CUDA libraries, each with its build fact and its usual name."""


def system_differs(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    yield from _machine(build, runtime)
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


def _runtime(fact: str, build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    """Compare GLIBC, GLIBCXX or CXXABI of two systems."""
    first, second = getattr(build.system, fact), getattr(runtime.system, fact)
    if first and second and version_key(first) > version_key(second):
        yield difference("system-older", RUNTIMES[fact], first, second, library=RUNTIMES[fact])


def _cuda_library(library: str, build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    """Whether a CUDA library of the first environment is not in the second."""
    first, second = build.cuda.get(library, ""), runtime.cuda.get(library, "")
    if first and not second and has_gpus(build) and not runtime.for_gpus:
        yield difference("cuda-missing", CUDA[library][1], first, NONE, library=CUDA[library][1])


def same_cuda(required: str, installed: str, *, by_major: bool) -> bool:
    """Whether an installed library has the file name that a build opens.

    Since CUDA 11 the name contains only the major version.
    """
    needed, present = version_key(required).release, version_key(installed).release
    exact = min(1 if by_major or needed[0] >= ONE_FOR_ALL_MINORS else 2, len(present))
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
