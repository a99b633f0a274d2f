"""Read how a release was built from the files of its wheel; nothing is loaded.

`facts_of` returns, in this order:

    tensorflow, git, compiler   what the library reports (`release_probe`), else what is in its bytes
    graph_def                   producer, min_consumer, min_producer
    cxx11_abi                   whether it uses C++11 strings: as reported, else from its symbols
    glibc, glibcxx, cxxabi      the newest symbol versions that its libraries need
    requires, requires_python   its requirements for pip
    cuda                        None, or version, cudnn, capabilities as declared, sass and ptx as
                                found in the code, and the libraries that are linked or mentioned
    build_info                  TensorFlow's own table of the same, where it has one
    session                     whether a session could be created, and its kernels were recorded
    built                       the date of the newest file in the wheel

`collect` adds facts from the package index: pythons (those with wheels) and uploaded.
"""

import ast
import json
import re
from email import message_from_string
from pathlib import Path

from elf import Library
from fatbin import SECTIONS, architectures
from stubs import CUDA
from wheels import Wheel

FLOORS = {"glibc": "GLIBC_", "glibcxx": "GLIBCXX_", "cxxabi": "CXXABI_"}
VERSION = re.compile(r"#define (TF_GRAPH_DEF_VERSION(?:_MIN_PRODUCER|_MIN_CONSUMER)?)\s+(\d+)")
CONFIG = re.compile(r"#define TF_(CUDA_VERSION|CUDNN_VERSION|CUDA_CAPABILITIES)\s+(.+)")
GIT = re.compile(rb"v\d+\.\d+\.\d+[\w.-]*-g?[0-9a-f]{7,}")
MENTIONED = re.compile(rb"lib(?:cu|nccl|nvinfer|nvrtc)\w*\.so(?:\.\d+)*")


def facts_of(wheel: Wheel, main: list[Library], versions: dict) -> dict:
    """Return all facts; `versions` is the answer of `release_probe`."""
    constants = b"".join(library.section(".rodata") for library in main)
    return {
        "tensorflow": versions["version"],
        "git": versions["git"] or git(wheel.root, constants),
        "compiler": versions["compiler"] or compilers(main),
        "graph_def": graph_def(wheel.root),
        "cxx11_abi": has_new_strings(main) if versions["cxx11_abi"] is None else bool(versions["cxx11_abi"]),
        **floors(main),
        **requirements(wheel.root),
        "cuda": cuda(wheel.root, main, constants),
        "build_info": build_info(wheel.root),
        "session": versions["session"],
        "built": wheel.built,
    }


def git(root: Path, constants: bytes) -> str | None:
    """Return the output of `git describe`; from 2.9 on it is in a Python extension."""
    texts = [*(path.read_bytes() for path in root.rglob("_pywrap_tf_session.so")), constants]
    return next((match[0].decode() for text in texts if (match := GIT.search(text))), None)


def compilers(main: list[Library]) -> str:
    """Return the comments of the compilers."""
    notes = {note for library in main for note in library.section(".comment").decode().split("\0") if note}
    return ", ".join(sorted(notes))


def has_new_strings(main: list[Library]) -> bool:
    """Whether most functions with strings take those of C++11."""
    own = [name for library in main for name in library.exported if "10tensorflow" in name]
    return sum("__cxx11" in name for name in own) > sum("Ss" in name for name in own)


def graph_def(root: Path) -> dict[str, int | None]:
    """Return the GraphDef versions that it writes and reads."""
    defined = dict(pair for path in root.rglob("*version.h") for pair in VERSION.findall(path.read_text()))
    numbers = {name.removeprefix("TF_GRAPH_DEF_VERSION"): int(number) for name, number in defined.items()}
    keys = {"producer": "", "min_consumer": "_MIN_CONSUMER", "min_producer": "_MIN_PRODUCER"}
    return {key: numbers.get(name) for key, name in keys.items()}


def floors(main: list[Library]) -> dict[str, str | None]:
    needed = {v for library in main for versions in library.versions.values() for v in versions}
    return {key: newest([v for v in needed if v.startswith(prefix)]) for key, prefix in FLOORS.items()}


def newest(versions: list[str]) -> str | None:
    """Return the highest number among GLIBC_2.2.5, GLIBC_2.17, …"""
    numbers = [v.partition("_")[2] for v in versions]
    ordered = sorted((n for n in numbers if n[0].isdigit()), key=lambda n: [int(p) for p in n.split(".")])
    return ordered[-1] if ordered else None


def requirements(root: Path) -> dict:
    return from_metadata(next(root.rglob("METADATA")).read_text(errors="replace"))


def from_metadata(text: str) -> dict:
    metadata = message_from_string(text)
    return {"requires": metadata.get_all("Requires-Dist", []), "requires_python": metadata["Requires-Python"]}


def cuda(root: Path, main: list[Library], constants: bytes) -> dict | None:
    """Return the CUDA facts; None for a build without GPU support."""
    code = [content for library in main for name in SECTIONS if (content := library.section(name))]
    if not code:
        return None
    declared = declarations(root)
    by_section = [architectures(content) for content in code]
    linked = sorted({name for library in main for name in library.needed if CUDA.match(name)})
    return {
        "version": declared.get("CUDA_VERSION") or number_of(linked, "cudart"),
        "cudnn": declared.get("CUDNN_VERSION") or number_of(linked, "cudnn"),
        "capabilities": re.findall(r"[\d.]+|(?:sm|compute)_\w+", declared.get("CUDA_CAPABILITIES", "")),
        **{kind: sorted({a for f in by_section for a in f[kind]}, key=float) for kind in ("sass", "ptx")},
        "linked": linked,
        "mentioned": sorted({name.decode() for name in MENTIONED.findall(constants)}),
    }


def declarations(root: Path) -> dict[str, str]:
    """Read cuda_config.h, and TensorFlow's own table if it has more."""
    texts = [path.read_text() for path in root.rglob("cuda_config.h")]
    declared = {name: value.strip().strip('"') for text in texts for name, value in CONFIG.findall(text)}
    info = build_info(root)
    declared |= {
        name.upper(): str(info[name]) for name in ("cuda_version", "cudnn_version") if info.get(name)
    }
    if info.get("cuda_compute_capabilities"):
        declared["CUDA_CAPABILITIES"] = " ".join(info["cuda_compute_capabilities"])
    return declared


def number_of(linked: list[str], name: str) -> str | None:
    """Return 8.0 for libcudart.so.8.0."""
    return next((n.partition(".so.")[2] for n in linked if n.startswith(f"lib{name}.so.")), None)


def build_info(root: Path) -> dict:
    """Return the literals of platform/build_info.py: names, or the entries of its table."""
    literals: dict = {}
    for path in root.rglob("build_info.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                value = literal(node.value)
                literals |= value if isinstance(value, dict) else {node.targets[0].id: value}
    return json.loads(json.dumps(literals))


def literal(node: ast.expr):
    """Evaluate a literal, including OrderedDict([…]) and dict(…)."""
    if isinstance(node, ast.Call):
        pairs = [dict(literal(argument) or {}) for argument in node.args]
        pairs.append({k.arg: literal(k.value) for k in node.keywords if k.arg})
        return {key: value for pair in pairs for key, value in pair.items()}
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None
