"""Look up how releases were built for GPUs (CUDA, cuDNN, compute capabilities), and what a status means."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tfport.atlas.atlas import atlas
from tfport.atlas.cuda import CUDA_LIBRARY, ONE_FOR_ALL_MINORS, compiles, cuda_of, runs_natively
from tfport.atlas.release_spans import STOCK, on_x86
from tfport.atlas.target import Target
from tfport.explain.builds import Facts, releases_with
from tfport.explain.lookup import Meaning, MessageMatch

WINDOWS_LIBRARY = re.compile(
    r"(cudart|cudnn|cublas\w*?|cufft|curand|cusolver|cusparse|cupti|nvinfer)64_(\d{1,4})\.dll"
)
MAC_LIBRARY = re.compile(r"(lib\w+?)\.([\d.]+)\.dylib")
LINKER_ERROR = re.compile(r"['\"]?; dlerror: ([^;]{1,600})")
NOT_FOUND = re.compile(
    r"(?:[^\s:]{0,300}/)?([\w.+-]{1,200})(?:: cannot open shared object file| not found)"
    r"|dlopen\(([\w.+-]{1,200}),"
)
WINDOWS_DRIVER = "nvcuda.dll"
FIRST_WITH_MINOR = 50
"""In names of Windows, numbers from 50 on contain a minor version: 90 is 9.0, 110 is 11.0, 12 is 12."""


def linux_library(name: str) -> str:
    """The name on Linux of a CUDA library of Windows or macOS: `cudart64_110.dll` is libcudart.so.11.0."""
    if name == WINDOWS_DRIVER:
        return "libcuda.so.1"
    if mac := MAC_LIBRARY.fullmatch(name):
        return f"{mac[1]}.so.{mac[2]}"
    windows = WINDOWS_LIBRARY.fullmatch(name)
    if windows is None:
        return name
    part, digits = windows[1], windows[2]
    version = digits if int(digits) < FIRST_WITH_MINOR else f"{digits[:-1]}.{digits[-1]}"
    return f"lib{part}.so.{version}"


def library(match: MessageMatch, target: Target | None) -> Meaning | None:
    """What to do about a library that was not found; None if it was found, but does not load."""
    other = _missing_library(match)
    if other is None:
        return None
    meaning = _not_found(other, target)
    if other == match.names["library"]:
        return meaning
    dependency = f"{match.names['library']} was found, but not {other}, which it needs."
    return Meaning([dependency, *meaning.facts], meaning.ways_out, meaning.on_target, replaces=True)


def _not_found(library: str, target: Target | None) -> Meaning:
    """Which releases need a library, and what package contains it."""
    name = linux_library(library)
    cuda_library = CUDA_LIBRARY.match(name)
    if cuda_library is None:
        return _other_library(name)
    part, version = cuda_library[1], cuda_library[2]
    if part == "cuda":
        return Meaning(
            ["It is part of the GPU driver, not of CUDA."],
            [
                "without a GPU there is nothing to do: TensorFlow runs on the CPU",
                "install the GPU driver",
            ],
        )
    needing = releases_needing(name)
    facts = [f"It is needed by {needing}."] if needing else [_product_text(part)]
    facts += _toolkits(part, version)
    ways = [
        "without a GPU there is nothing to do: TensorFlow runs on the CPU",
        f"install {_package(part, version)}, and add its folder to LD_LIBRARY_PATH",
        "for newer releases, pip install 'tensorflow[and-cuda]' installs the libraries",
        "or use a TensorFlow that was built for the installed CUDA; on Jetson, NVIDIA's wheel",
    ]
    return Meaning(facts, ways, cuda_on_target(target))


def releases_needing(library: str) -> str:
    """The releases that need a library of CUDA; empty if none does."""
    name = linux_library(library)
    known = CUDA_LIBRARY.match(name)
    return releases_with(lambda facts: _needs(cuda_of(facts), known[1], known[2], name)) if known else ""


def _missing_library(match: MessageMatch) -> str | None:
    """The library that the dynamic linker did not find; None if its error is another one."""
    error = LINKER_ERROR.match(match.text, len(match.quote))
    if error is None or "same" in match.names:
        return match.names.get("same", match.names["library"])
    missing = NOT_FOUND.match(error[1])
    return (missing[1] or missing[2]) if missing else None


OF_TENSORFLOW = re.compile(r"tensorflow|keras|\btf\b|TF_|import_array", re.IGNORECASE)
EXECUTABLE = "error while loading shared libraries"


def library_at_import(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases are linked to a CUDA library, so that they are not imported without it."""
    name = linux_library(match.names["library"])
    cuda_library = CUDA_LIBRARY.match(name)
    if cuda_library is None:
        return _other_library(name)
    linking = releases_with(lambda facts: name in (cuda_of(facts).get("linked") or ()))
    toolkits = _toolkits(cuda_library[1], cuda_library[2])
    product = "the GPU driver" if cuda_library[1] == "cuda" else _package(cuda_library[1], cuda_library[2])
    if not OF_TENSORFLOW.search(match.before + match.text) and (EXECUTABLE in match.quote or not linking):
        return Meaning(
            ["Nothing in the text comes from TensorFlow: it may be another program or package.", *toolkits],
            [
                f"install {product}, and add its folder to LD_LIBRARY_PATH",
                "or its build for the CUDA you have",
            ],
        )
    linked = f"Linked to it: {linking}."
    facts = [linked if linking else "No recorded release of TensorFlow is linked to it.", *toolkits]
    ways = [
        "without a GPU, install the package for CPUs: `tensorflow` up to 1.14, `tensorflow-cpu` later",
        f"install {product}, and add its folder to LD_LIBRARY_PATH",
        "use a release that was built for this machine's CUDA",
    ]
    return Meaning(facts, ways, cuda_on_target(target))


def _needs(cuda: Facts, part: str, version: str, name: str) -> bool:
    """Whether a build needs a CUDA library: it links to it, or was built with its version."""
    if name in (cuda.get("linked") or ()):
        return True
    built = cuda.get("version") or ""
    if part == "cudnn":
        return bool(version) and (cuda.get("cudnn") or "").partition(".")[0] == version.partition(".")[0]
    if part != "cudart" or not version or not built:
        return False
    major = version.partition(".")[0]
    if int(major) >= ONE_FOR_ALL_MINORS:
        return bool(built.partition(".")[0] == major)
    return bool(built == version)


def _product_text(part: str) -> str:
    return "It is part of TensorRT." if part.startswith("nvinfer") else "It is part of CUDA."


def _serves_all_minors(part: str, version: str) -> bool:
    major = version.partition(".")[0]
    return part == "cudart" and bool(major) and int(major) >= ONE_FOR_ALL_MINORS


def _toolkits(part: str, version: str) -> list[str]:
    """With which CUDA each release was built, if the name of the library is common to several."""
    if not _serves_all_minors(part, version):
        return []
    major = version.partition(".")[0]
    built = _cuda_versions(lambda cuda: cuda.partition(".")[0] == major)
    return [f"Every CUDA {major} uses this name. Built with {'; '.join(built)}."] if built else []


def _cuda_versions(holds: Callable[[str], bool]) -> list[str]:
    """The CUDA versions for which a condition holds, each with its releases."""
    versions = dict.fromkeys(
        version for build in on_x86(atlas(), STOCK) if (version := cuda_of(build.facts).get("version"))
    )
    return [f"CUDA {v}: {releases_with(_built_with(v))}" for v in versions if holds(v)]


def _package(part: str, version: str) -> str:
    if _serves_all_minors(part, version):
        return "the CUDA that your release of TensorFlow was built with"
    name = "TensorRT" if part.startswith("nvinfer") else "cuDNN" if part == "cudnn" else "CUDA"
    exact = version if part in ("cudart", "cudnn") or part.startswith("nvinfer") else ""
    return f"{name} {exact}".strip()


def _other_library(name: str) -> Meaning:
    if name.startswith(("libtensorflow_framework", "libtensorflow_cc", "_pywrap_tensorflow")):
        major = name.rpartition(".so.")[2] if ".so." in name else ""
        which = f"TensorFlow {major} itself" if major else "TensorFlow itself"
        return Meaning(
            [f"It is {which}: a custom-op library or a program is linked to it and does not find it."],
            ["for a program, install libtensorflow, or add its folder to LD_LIBRARY_PATH",
             "import tensorflow before loading the library, so that it is already in the process",
             "link with the flags of `tf.sysconfig.get_link_flags()` of the release that will load it"],
        )  # fmt: skip
    if not name.startswith("lib"):
        return Meaning(
            ["Its name is not that of a system library: it belongs to the program, and was not compiled."],
            ["compile it as its project describes (`make`, `setup.py build_ext`), or correct its path"],
        )
    if name.startswith("libtensorflow"):
        return Meaning(
            ["It is TensorFlow's library for C, C++ or TensorFlow Lite, which a program is linked to."],
            [
                "download or build it for this system, copy it to /usr/local/lib, and run ldconfig",
                "or add its folder to LD_LIBRARY_PATH",
            ],
        )
    return Meaning(
        ways_out=[
            "install the system package that contains it, or add its folder to LD_LIBRARY_PATH",
            "`ldd FILE` shows every missing library",
        ]
    )


def cuda_on_target(target: Target | None) -> list[str]:
    build = target.build if target else None
    if target is None or build is None:
        return []
    cuda = cuda_of(build.facts)
    if not cuda.get("version"):
        return [f"{target.name} was built without CUDA"]
    cudnn = f" and cuDNN {cuda['cudnn']}" if cuda.get("cudnn") else ""
    return [f"{target.name} was built with CUDA {cuda['version']}{cudnn}"]


def cudnn_built_with(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases were built for the cuDNN version in the message."""
    wanted = match.names["wanted"]
    major = wanted.partition(".")[0] if "." in wanted else wanted[:-3]  # 7.0.4 or 7004
    releases = releases_with(lambda facts: (cuda_of(facts).get("cudnn") or "").partition(".")[0] == major)
    facts = [f"Releases built for cuDNN {major}: {releases}."] if releases else []
    return Meaning(facts, on_target=cuda_on_target(target))


def cudnn_rnn(match: MessageMatch, target: Target | None) -> Meaning:
    """The sizes of the recurrent layer in the message."""
    config = re.search(r"cell_num_units\]: \[([\d, ]{1,100})\]", match.text)
    if config is None:
        return Meaning()
    names = ("layers", "input size", "units", "directions", "longest sequence", "batch")
    sizes = zip(names, config[1].split(", "), strict=False)
    return Meaning([f"The layer has {', '.join(f'{name} {size}' for name, size in sizes)}."])


def all_cuda(match: MessageMatch, target: Target | None) -> Meaning:
    """The CUDA version of every release."""
    facts = [f"{built}." for built in _cuda_versions(lambda _: True)]
    return Meaning(facts, on_target=cuda_on_target(target))


def _built_with(version: str) -> Callable[[Facts], bool]:
    return lambda facts: cuda_of(facts).get("version") == version


def compute_capability(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases have code for a GPU of the compute capability in the message."""
    capability = match.names.get("capability") or _capability_in(match.text)
    ways = [
        "use a release that was built for this GPU (`tfport targets show TARGET`), or build TensorFlow with "
        "its compute capability (TF_CUDA_COMPUTE_CAPABILITIES)",
        "run on the CPU: CUDA_VISIBLE_DEVICES=-1",
    ]
    on_target = list(_code_on_target(target))
    if capability is None:
        ways.insert(0, "look up the compute capability: nvidia-smi --query-gpu=compute_cap --format=csv")
        return Meaning([], ways, on_target)
    native = releases_with(lambda facts: runs_natively(cuda_of(facts).get("sass") or [], capability))
    facts = [f"Machine code for compute capability {capability}: {native or 'in no recorded release'}."]
    compiled = releases_with(lambda facts: compiles(cuda_of(facts).get("ptx") or [], capability))
    facts += [f"PTX that the driver can compile for it: {compiled}."] if compiled else []
    return Meaning(facts, ([f"use {native}"] if native else []) + ways, on_target)


def _capability_in(text: str) -> str | None:
    capability = re.search(r"compute capability:? (\d{1,2}\.\d)", text)
    return capability[1] if capability else None


def _code_on_target(target: Target | None) -> Iterator[str]:
    build = target.build if target else None
    if target is not None and build is not None:
        codes = cuda_of(build.facts).get("sass") or []
        yield f"{target.name} has machine code for {', '.join(codes) or 'no GPU'}"


# What a status of CUDA or cuDNN means.

TABLE = Path(__file__).with_name("cuda_status.toml")
SUCCESS = "SUCCESS"
LENGTH = 200
"""How many characters of a message may contain its status."""


def cudnn_status(match: MessageMatch, target: Target | None) -> Meaning | None:
    """What a status of cuDNN means; None for SUCCESS."""
    status = match.names["status"]
    if status == SUCCESS:
        return None
    ways = ["set `TF_FORCE_GPU_ALLOW_GROWTH=true`; nvidia-smi shows which process uses the memory"]
    ways.append("look for `Loaded runtime CuDNN library` and the first CUDA error in the log")
    return Meaning(_fact("cudnn", status), ways, cuda_on_target(target))


def driver_status(match: MessageMatch, target: Target | None) -> Meaning | None:
    """What a status of the CUDA driver means; None for SUCCESS."""
    status = match.names["status"]
    return None if status == SUCCESS else Meaning(_fact("driver", status), on_target=cuda_on_target(target))


def runtime_status(match: MessageMatch, target: Target | None) -> Meaning:
    """What the words of CUDA's runtime mean."""
    text = match.text[:LENGTH]
    row = next(row for row in _table()["runtime"] if row["says"] in text)
    return Meaning(row["means"], row["ways_out"], cuda_on_target(target))


def _fact(product: str, status: str) -> list[str]:
    meaning = _table()[product].get(status)
    return [f"This means that {meaning}."] if meaning else []


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads(TABLE.read_text("utf-8"))
