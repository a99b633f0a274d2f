"""Render the facts about a build that its wheel contains: Python, CUDA, C++ ABI, GraphDef versions.

A fact that could not be read is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

PINS = ("numpy", "protobuf", "keras", "tf-keras", "ml-dtypes", "h5py", "tensorflow")
ABI = {True: "new", False: "old"}
GRAPH_DEF = ("producer", "min_consumer", "min_producer")
FLOORS = {"glibc": "GLIBC", "glibcxx": "GLIBCXX", "cxxabi": "CXXABI"}

HEAD = ("date", "Python", "CUDA", "cuDNN", "compute", "GLIBC", "ABI", "GraphDef")

Facts = dict[str, Any]


def cells(facts: Facts) -> tuple[str, ...]:
    """The cells of a row of the table of releases, as in HEAD."""
    cuda = facts.get("cuda") or {}
    return (
        date(facts)[: len("2022-11")],
        _range(facts.get("pythons")),
        cuda.get("version") or "",
        cuda.get("cudnn") or "",
        _range(capabilities(cuda)),
        facts.get("glibc") or "",
        ABI[facts["cxx11_abi"]] if "cxx11_abi" in facts else "",
        str((facts.get("graph_def") or {}).get("producer") or ""),
    )


def date(facts: Facts) -> str:
    """The upload date, or the date of the newest file in the wheel."""
    return (facts.get("uploaded") or facts.get("built") or "")[: len("2022-11-16")]


def capabilities(cuda: Facts) -> list[str]:
    """The compute capabilities with machine code, or those that the build declares."""
    return cuda.get("sass") or cuda.get("capabilities") or []


def _range(versions: list[str] | None) -> str:
    if not versions:
        return ""
    return versions[0] if len(versions) == 1 else f"{versions[0]}-{versions[-1]}"


def rows(facts: Facts) -> Iterator[tuple[str, list[str]]]:
    """All facts to show, each as a label and its items."""
    cuda, versions = facts.get("cuda") or {}, facts.get("graph_def") or {}
    yield "date", [date(facts)] if date(facts) else []
    yield "Python", facts.get("pythons") or ([r] if (r := facts.get("requires_python")) else [])
    yield "CUDA", [cuda["version"]] if cuda.get("version") else ["none"] if "cuda" in facts else []
    yield "cuDNN", [cuda["cudnn"]] if cuda.get("cudnn") else []
    yield "compute", capabilities(cuda)
    yield "PTX", cuda.get("ptx") or []
    if "cxx11_abi" in facts:
        yield "C++ ABI", [f"_GLIBCXX_USE_CXX11_ABI={int(facts['cxx11_abi'])}"]
    yield "needs", [f"{name} {facts[key]}" for key, name in FLOORS.items() if facts.get(key)]
    yield "GraphDef", [f"{name} {versions[name]}" for name in GRAPH_DEF if versions.get(name) is not None]
    yield "requires", pins(facts)
    yield "compiler", [facts["compiler"]] if facts.get("compiler") else []
    yield "git", [facts["git"]] if facts.get("git") else []
    yield "same as", [facts["alias_of"]] if facts.get("alias_of") else []


def pins(facts: Facts) -> list[str]:
    """The requirements that can conflict with other packages."""
    plain = (requirement.partition(";") for requirement in facts.get("requires") or [])
    wanted = [(name.strip(), marker) for name, _, marker in plain if _package(name) in PINS]
    return [f"{name};{marker}" if marker else name for name, marker in wanted]


def _package(requirement: str) -> str:
    name = requirement.strip()
    end = next((i for i, c in enumerate(name) if not (c.isalnum() or c in "-_.")), len(name))
    return name[:end].lower().replace("_", "-")


def flat(facts: Facts, prefix: str = "") -> Facts:
    """Nested facts as a flat dict, with names such as `cuda version`."""
    by_name: Facts = {}
    for key, value in facts.items():
        if isinstance(value, dict):
            by_name |= flat(value, f"{prefix}{key} ")
        else:
            by_name[f"{prefix}{key}"] = value
    return by_name
