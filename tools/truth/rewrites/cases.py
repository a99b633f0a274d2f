"""The cases of cases.toml: models, the targets to rewrite them for, and their inputs.

A model is made here (`maker`), was shipped in a package (`package`, `version`, `model`), or lies
at a `path` of the repository. `brought` has it on disk: made ones and a package's are kept in caches.
"""

import hashlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))

import real_models

ROOT = Path(__file__).parents[3]
CASES = Path(__file__).with_name("cases.toml")
HERE = Path(__file__).parent
MAKERS = sorted(HERE.glob("models*.py"))
BUILDER = HERE / "build_models.py"
SHARED = [BUILDER, HERE / "making.py", HERE / "cudnn_twin.py"]
CACHE = ROOT / ".cache/reality"
LIVE = ROOT / ".venv-live"
BATCHES = (1, 5, 2)
OWN = "tensorflow=="


@dataclass(frozen=True)
class Case:
    """One model, and where it must run."""

    name: str
    targets: tuple[str, ...]
    maker: str = ""
    package: str = ""
    version: str = ""
    model: str = ""
    path: str = ""
    twin: str = ""
    """The maker of an equivalent model, for a model without CPU kernels in TensorFlow."""
    signature: str | None = None
    fetches: tuple[str, ...] = ()
    batches: tuple[int, ...] = BATCHES
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    own_inputs: bool = False
    """Whether `fix` gets these inputs, as made-up ones mean nothing to the model."""


@dataclass(frozen=True)
class Where:
    """A target as tfport names it, and which real binary that is."""

    target: str
    package: str
    release: str
    header: str = ""
    """The ops_to_register.h of a reduced build."""


def read_cases(file: Path = CASES) -> list[Case]:
    rows = tomllib.loads(file.read_text())["case"]
    lists = ("targets", "fetches", "batches")
    return [Case(**{k: tuple(v) if k in lists else v for k, v in row.items()}) for row in rows]


def where(target: str) -> Where:
    """`1.4.1` is tensorflow==1.4.1; `PATH.h@tensorflow==1.4.1` a reduced build of it."""
    full = target if "==" in target else f"{OWN}{target}"
    header, _, requirement = full.rpartition("@")
    package, _, release = requirement.partition("==")
    return Where(full, package, release, header)


def brought(cases: Iterable[Case]) -> dict[str, Path]:
    """The path of the model of each case, and of each twin by its maker."""
    chosen = list(cases)
    made = make([name for case in chosen for name in (case.maker, case.twin) if name])
    models = {case.name: made[case.maker] if case.maker else shipped(case) for case in chosen}
    return models | {case.twin: made[case.twin] for case in chosen if case.twin}


def makers() -> dict[str, Path]:
    """The file of each function that saves a model."""
    function = re.compile(r"^def (\w+)\(path: str\)", re.MULTILINE)
    return {name: file for file in MAKERS for name in function.findall(file.read_text())}


def make(names: list[str]) -> dict[str, Path]:
    """Build models by their makers; the cache folder depends on the source of a maker's file."""
    files = makers()
    paths = {name: cache_of(files[name]) / name for name in names}
    missing = [name for name, path in paths.items() if not (path / "saved_model.pb").exists()]
    for file in dict.fromkeys(files[name] for name in missing):
        chosen = [name for name in missing if files[name] == file]
        command = [LIVE / "bin/python", BUILDER, cache_of(file), file.stem, *chosen]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
    return paths


def cache_of(maker: Path) -> Path:
    source = b"".join(file.read_bytes() for file in (maker, *SHARED))
    folder = CACHE / hashlib.sha256(source).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def shipped(case: Case) -> Path:
    if case.path:
        return ROOT / case.path
    same = [p for p in real_models.packages() if (p.name, p.version) == (case.package, case.version)]
    if not same:
        raise LookupError(f"{case.name}: {case.package} {case.version} is not in real_models.toml")
    if not same[0].is_here():
        real_models.bring(same[0])
    return same[0].folder / case.model


def live_package() -> Path:
    """The folder of the TensorFlow that computes the reference outputs."""
    return next((LIVE / "lib").glob("python*/site-packages/tensorflow"))
