"""What is recorded about how releases were built for GPUs: CUDA, cuDNN, compute capabilities."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tfport.atlas.atlas import atlas
from tfport.atlas.capability import compiles, runs_natively
from tfport.atlas.spans import STOCK, on_x86
from tfport.atlas.target import Target
from tfport.check.explain.builds import Facts, releases_with
from tfport.check.explain.lookup import Meaning, MessageMatch

CUDA_LIBRARY = re.compile(
    r"lib(cudart|cudnn|cublas\w*|cufft|curand|cusolver|cusparse|nccl|cupti|nvinfer\w*|cuda)\.so\.?([\d.]*)"
)
ONE_FOR_ALL_MINORS = 11
"""From CUDA 11 on, one libcudart does for all minor versions of a major one."""
STATUS = {
    "NOT_INITIALIZED": "it could not be set up: memory of the GPU was short, or driver and cuDNN do not fit",
    "ALLOC_FAILED": "memory of the GPU was short",
    "ARCH_MISMATCH": "it has no code for this GPU",
    "VERSION_MISMATCH": "its parts are of different versions",
    "NOT_SUPPORTED": "it has nothing that does this, with these shapes and types",
    "BAD_PARAM": "it was given shapes or types that it does not take",
    "EXECUTION_FAILED": "a kernel failed: memory was short, or cuDNN does not fit the GPU or the driver",
    "INTERNAL_ERROR": "something failed inside: most often memory of the GPU was short",
}


def cuda_of(facts: Facts) -> Facts:
    return facts.get("cuda") or {}


def library(said: MessageMatch, target: Target | None) -> Meaning:
    name = said.names["library"]
    found = CUDA_LIBRARY.match(name)
    if found is None:
        return _other_library(name)
    what, version = found[1], found[2]
    if what == "cuda":
        return Meaning(
            ["It is part of the driver for GPUs, not of CUDA."],
            [
                "on a machine without a GPU nothing: TensorFlow runs on the CPU",
                "install the driver for the GPU",
            ],
        )
    wanting = releases_with(lambda facts: _wants(cuda_of(facts), what, version, name))
    facts = [f"It is wanted by {wanting}."] if wanting else [_whose(what)]
    ways = [
        "on a machine without a GPU nothing: TensorFlow runs on the CPU",
        f"install {_package(what, version)}, and let LD_LIBRARY_PATH lead to it",
        "with newer releases, pip install 'tensorflow[and-cuda]' brings the libraries",
    ]
    return Meaning(facts, ways, _cuda_on_target(target))


def _wants(cuda: Facts, what: str, version: str, name: str) -> bool:
    """Whether a build asks for a library of CUDA: by what it links, or the version that it was built with."""
    if name in (cuda.get("linked") or ()):
        return True
    built = cuda.get("version") or ""
    if what == "cudnn":
        return bool(version) and (cuda.get("cudnn") or "").partition(".")[0] == version.partition(".")[0]
    if what != "cudart" or not version or not built:
        return False
    major = version.partition(".")[0]
    if int(major) >= ONE_FOR_ALL_MINORS:
        return bool(built.partition(".")[0] == major)
    return bool(built == version)


def _whose(what: str) -> str:
    return "It is part of TensorRT." if what.startswith("nvinfer") else "It is part of CUDA."


def _package(what: str, version: str) -> str:
    name = "TensorRT" if what.startswith("nvinfer") else "cuDNN" if what == "cudnn" else "CUDA"
    exact = version if what in ("cudart", "cudnn") or what.startswith("nvinfer") else ""
    return f"{name} {exact}".strip()


def _other_library(name: str) -> Meaning:
    if name.startswith(("libtensorflow_framework", "libtensorflow_cc", "_pywrap_tensorflow")):
        major = name.rpartition(".so.")[2] if ".so." in name else ""
        which = f"TensorFlow {major} itself" if major else "TensorFlow itself"
        return Meaning(
            [f"It is {which}: a custom-op library was linked against it and does not find it."],
            ["import tensorflow before loading the library: then it is in the process already",
             "link with the flags of `tf.sysconfig.get_link_flags()`, against the release that will load it"],
        )  # fmt: skip
    return Meaning(
        ways_out=[
            "install the package of the system that brings it, or let LD_LIBRARY_PATH lead to it",
            "`ldd FILE` shows everything that a library misses",
        ]
    )


def _cuda_on_target(target: Target | None) -> list[str]:
    build = target.build if target else None
    if target is None or build is None:
        return []
    cuda = cuda_of(build.facts)
    if not cuda.get("version"):
        return [f"{target.name} was built without CUDA"]
    cudnn = f" and cuDNN {cuda['cudnn']}" if cuda.get("cudnn") else ""
    return [f"{target.name} was built with CUDA {cuda['version']}{cudnn}"]


def cudnn_built_with(said: MessageMatch, target: Target | None) -> Meaning:
    major = said.names["wanted"].partition(".")[0]
    found = releases_with(lambda facts: (cuda_of(facts).get("cudnn") or "").partition(".")[0] == major)
    facts = [f"Built for cuDNN {major}: {found}."] if found else []
    return Meaning(facts, on_target=_cuda_on_target(target))


def cudnn_status(said: MessageMatch, target: Target | None) -> Meaning | None:
    status = said.names["status"]
    if status == "SUCCESS":
        return None
    ways = ["`TF_FORCE_GPU_ALLOW_GROWTH=true`, and nvidia-smi to see who holds the memory"]
    ways.append("look for `Loaded runtime CuDNN library` and the first error of CUDA in the log")
    return Meaning([f"That is: {STATUS[status]}."] if status in STATUS else [], ways, _cuda_on_target(target))


def cudnn_rnn(said: MessageMatch, target: Target | None) -> Meaning:
    found = re.search(r"cell_num_units\]: \[([\d, ]{1,100})\]", said.text)
    if found is None:
        return Meaning()
    names = ("layers", "input size", "units", "directions", "longest sequence", "batch")
    sizes = zip(names, found[1].split(", "), strict=False)
    return Meaning([f"The layer has {', '.join(f'{name} {size}' for name, size in sizes)}."])


def all_cuda(said: MessageMatch, target: Target | None) -> Meaning:
    versions = dict.fromkeys(
        version for build in on_x86(atlas(), STOCK) if (version := cuda_of(build.facts).get("version"))
    )
    facts = [f"CUDA {version}: {releases_with(_built_with(version))}." for version in versions]
    return Meaning(facts, on_target=_cuda_on_target(target))


def _built_with(version: str) -> Callable[[Facts], bool]:
    return lambda facts: cuda_of(facts).get("version") == version


def compute_capability(said: MessageMatch, target: Target | None) -> Meaning:
    capability = said.names.get("capability") or _capability_in(said.text)
    ways = ["on the CPU the model runs all the same: CUDA_VISIBLE_DEVICES=-1"]
    on_target = list(_code_on_target(target))
    if capability is None:
        ways.insert(0, "find out what the GPU is: nvidia-smi --query-gpu=compute_cap --format=csv")
        return Meaning([], ways, on_target)
    native = releases_with(lambda facts: runs_natively(cuda_of(facts).get("sass") or [], capability))
    facts = [f"Machine code for a GPU of {capability}: {native or 'in no recorded release'}."]
    compiled = releases_with(lambda facts: compiles(cuda_of(facts).get("ptx") or [], capability))
    facts += [f"PTX that it can compile: {compiled}."] if compiled else []
    return Meaning(facts, ([f"use {native}"] if native else []) + ways, on_target)


def _capability_in(text: str) -> str | None:
    found = re.search(r"compute capability:? (\d{1,2}\.\d)", text)
    return found[1] if found else None


def _code_on_target(target: Target | None) -> Iterator[str]:
    build = target.build if target else None
    if target is not None and build is not None:
        codes = cuda_of(build.facts).get("sass") or []
        yield f"{target.name} has machine code for {', '.join(codes) or 'no GPU'}"
