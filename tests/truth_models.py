"""The models of tests/truth as folders, though most of them are in an archive.

A model `tests/truth/models/NAME` is a folder if a page names it, so that readers can open it; the others are
in `tests/truth/models.tar.xz`, which is unpacked once to `.cache`. The same holds for `tests/truth/keras`.

    read_questions(TRUTH / "questions.json")                 what to ask each model, and where it is
    model_folder("tests/truth/models/index_missing")         the folder of one model
    store_models(stored_models(folder) | changed, folder)    for the tools that write them
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TRUTH = ROOT / "tests/truth"
CACHE = ROOT / ".cache/unpacked"

Models = dict[str, dict[str, bytes]]
"""The files of each model, by their path in its folder."""


def read_questions(file: Path) -> dict[str, dict[str, Any]]:
    """Return the questions of a file by case, each with the absolute path of its model."""
    questions = json.loads(file.read_text())
    return {case: {**asked, "path": str(model_folder(asked["path"]))} for case, asked in questions.items()}


def model_folder(path: str | Path) -> Path:
    """Return the folder of a model: the path itself, or the folder of that name in the archive beside it."""
    folder = ROOT / path
    return folder if folder.exists() else unpacked(archive_of(folder.parent)) / folder.name


def archive_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.tar.xz")


@functools.cache
def unpacked(archive: Path) -> Path:
    """Return a folder with the contents of an archive.

    Several processes may do this at once: each unpacks to a folder of its own, and the first gives its name.
    """
    content = archive.read_bytes()
    folder = CACHE / f"{archive.name}-{hashlib.sha256(content).hexdigest()[:16]}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        own = Path(tempfile.mkdtemp(dir=CACHE))
        for name, files in unpack(content).items():
            write_model(files, own / name)
        try:
            own.rename(folder)
        except OSError:  # another process was first
            shutil.rmtree(own)
    return folder


def unpack(content: bytes) -> Models:
    models: Models = defaultdict(dict)
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(content)), mode="r:") as tar:
        for member in tar:
            name, _, file = member.name.partition("/")
            models[name][file] = tar.extractfile(member).read()  # type: ignore[union-attr]
    return dict(models)


def pack(members: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a .tar.xz with these files: the same bytes for the same files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return lzma.compress(out.getvalue(), preset=9)


def stored_models(folder: Path) -> Models:
    """Return the models of a folder and of its archive."""
    archive = archive_of(folder)
    named = {path.name: read_model(path) for path in folder.iterdir() if path.is_dir()}
    return (unpack(archive.read_bytes()) if archive.exists() else {}) | named


def store_models(models: Models, folder: Path) -> None:
    """Replace the models of a folder and its archive: those that pages name become folders."""
    named = named_on_pages(folder) & set(models)
    for path in folder.iterdir():
        if path.is_dir() and (path.name not in named or read_model(path) != models[path.name]):
            shutil.rmtree(path)
    for name in named:
        write_model(models[name], folder / name)
    packed = {name: models[name] for name in sorted(set(models) - named)}
    archive = archive_of(folder)
    if not archive.exists() or unpack(archive.read_bytes()) != packed:  # another liblzma writes other bytes
        members = [(f"{name}/{file}", packed[name][file]) for name in packed for file in sorted(packed[name])]
        archive.write_bytes(pack(members))


def named_on_pages(folder: Path) -> set[str]:
    """Return the names of the models of a folder that pages name, or findings, which become pages."""
    path = re.compile(re.escape(f"{folder.relative_to(ROOT).as_posix()}/") + r"([\w.-]*\w)")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    return {name for page in pages for name in path.findall(page.read_text())}


def read_model(folder: Path) -> dict[str, bytes]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def write_model(files: dict[str, bytes], folder: Path) -> None:
    for folder_path in {os.path.dirname(folder / name) for name in files}:
        os.makedirs(folder_path, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
