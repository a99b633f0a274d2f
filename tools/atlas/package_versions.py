"""Record which versions of TensorFlow's companion packages exist, and what each requires.

    python tools/atlas/package_versions.py [--cache FOLDER] [PACKAGE …]

Writes src/tfport/atlas/package_versions.json: for each version with a wheel, the day of its
upload, the Python and the TensorFlow that it requires; and package_requirements.json.xz beside it: what
else it requires on Linux, without extras. Reads only the METADATA of wheels, with HTTP range requests.
`tfport env` advises only versions that the first file has.
"""

import argparse
import json
import lzma
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.parser import HeaderParser
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from pip._internal.models.index import PyPI
from remote_zip import open_zip

from tfport.atlas.atlas import TENSORFLOWS, atlas

OUT = Path(__file__).parents[2] / "src/tfport/atlas/package_versions.json"
REQUIREMENTS = OUT.with_name("package_requirements.json.xz")
INDEX = f"{PyPI.pypi_url}/"
FINAL = re.compile(r"\d+(\.\d+)*(\.post\d+)?")
COMPANIONS = [
    "keras",
    "tf-keras",
    "tensorboard",
    "tensorflow-estimator",
    "tensorflow-hub",
    "tensorflow-probability",
    "tensorflow-datasets",
    "tensorflow-io-gcs-filesystem",
    "tensorflow-model-optimization",
    "tensorflow-transform",
    "tfx-bsl",
    "keras-cv",
    "keras-nlp",
    "keras-hub",
    "keras-tuner",
    "tensorflow-recommenders",
    "tensorflow-ranking",
    "tensorflow-serving-api",
    "tensorflow-serving-api-gpu",
    "tf-agents",
    "tensorflow-metadata",
    "tensorflow-data-validation",
    "tensorflow-model-analysis",
    "tensorflow-federated",
    "tensorflow-gan",
    "tensorflow-gnn",
    "tf-models-official",
    "tensorflow-metal",
    "tensorflowjs",
    "tf2onnx",
    "tf-slim",
    "kapre",
    "dm-sonnet",
    "gpflow",
]
"""Packages without ops of their own that are used together with TensorFlow."""
TENSORFLOW = re.compile(r"(intel-)?tensorflow(-cpu|-gpu|-intel|-macos|-rocm|-aarch64|-cpu-aws)?")
PREFERRED = ("cp311", "cp310", "cp39", "cp38", "cp37", "py3")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packages", nargs="*", help="default: all")
    parser.add_argument("--cache", type=Path, help="folder for what was downloaded")
    args = parser.parse_args()
    addons = [package for package in atlas().packages() if package not in TENSORFLOWS]
    names = args.packages or sorted({*addons, *COMPANIONS})
    before = json.loads(OUT.read_text())["packages"] if args.packages else {}
    required = json.loads(lzma.decompress(REQUIREMENTS.read_bytes())) if args.packages else {}
    with ThreadPoolExecutor(8) as pool:
        recorded = dict(zip(names, pool.map(lambda name: versions_of(name, args.cache), names), strict=True))
    for name, rows in recorded.items():
        required[name] = {version: row.pop("requires") for version, row in rows.items()}
    write({name: rows for name, rows in {**before, **recorded}.items() if rows})
    text = json.dumps({name: required[name] for name in sorted(required) if required[name]})
    REQUIREMENTS.write_bytes(lzma.compress(text.encode(), preset=9))


def versions_of(package: str, cache: Path | None) -> dict[str, dict]:
    """Return the rows of all versions with a wheel, the oldest first."""
    page = json.loads(cached(cache, f"{package}.json", lambda: fetch(f"{INDEX}{package}/json")))
    rows = {}
    for version in sorted(filter(FINAL.fullmatch, page["releases"]), key=Version):
        wheels = [file for file in page["releases"][version] if is_for_linux(file["filename"])]
        if wheels and not all(file.get("yanked") for file in wheels):
            wheel = min(wheels, key=lambda file: preference(file["filename"]))
            text = cached(cache, f"{wheel['filename']}.METADATA", lambda wheel=wheel: metadata(wheel["url"]))
            rows[version] = row(min(file["upload_time"] for file in wheels), text)
    return rows


def is_for_linux(name: str) -> bool:
    return name.endswith(".whl") and ("linux" in name or name.endswith("-any.whl"))


def preference(name: str) -> tuple[int, str]:
    return next((n for n, tag in enumerate(PREFERRED) if tag in name), len(PREFERRED)), name


def cached(cache: Path | None, name: str, make) -> bytes:
    if cache is None:
        return make()
    file = cache / name
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        file.write_bytes(make())
    return file.read_bytes()


def fetch(url: str) -> bytes:
    with urlopen(url, timeout=120) as answer:
        return answer.read()


def metadata(url: str) -> bytes:
    archive = open_zip(urljoin("https://files.pythonhosted.org/", url.removeprefix("../../packages/")))
    name = next(name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
    return archive.read(name)


def row(uploaded: str, text: bytes) -> dict:
    """One version: its day, its Python versions, the TensorFlow it requires, and what else it requires."""
    headers = HeaderParser().parsestr(text.decode(errors="replace"))
    requirements = list(parsed(headers.get_all("Requires-Dist", [])))
    always = [r for r in requirements if "extra" not in str(r.marker) and on_linux(r)]
    tensorflow = [r for r in always if TENSORFLOW.fullmatch(canonicalize_name(r.name)) and r.specifier]
    tensorflow = tensorflow or [r for r in requirements if re.search(r"extra == .tensorflow", str(r.marker))]
    others = sorted({plain(r) for r in always if not is_stock(r)})
    facts = {
        "uploaded": uploaded[:10],
        "python": headers["Requires-Python"],
        "tensorflow": next((str(r.specifier) for r in tensorflow if is_stock(r)), None),
    }
    return {name: value for name, value in facts.items() if value} | {"requires": others}


def is_stock(requirement: Requirement) -> bool:
    return bool(TENSORFLOW.fullmatch(canonicalize_name(requirement.name)))


def parsed(texts: list[str]):
    for text in texts:
        try:
            yield Requirement(text)
        except InvalidRequirement:
            continue


def on_linux(requirement: Requirement) -> bool:
    system = {"platform_machine": "x86_64", "sys_platform": "linux", "platform_system": "Linux"}
    return requirement.marker is None or requirement.marker.evaluate({**system, "extra": ""})


def plain(requirement: Requirement) -> str:
    marker = f"; {requirement.marker}" if requirement.marker else ""
    return f"{canonicalize_name(requirement.name)}{requirement.specifier}{marker}"


def write(packages: dict[str, dict[str, dict]]) -> None:
    """Write the file, a version per line."""
    parts = []
    for name, rows in sorted(packages.items()):
        lines = (f'   "{version}": {json.dumps(row)}' for version, row in rows.items())
        parts.append(f'  "{name}": {{\n' + ",\n".join(lines) + "}")
    day = datetime.now(UTC).date().isoformat()
    OUT.write_text(f'{{"recorded": "{day}",\n "packages": {{\n' + ",\n".join(parts) + "}}\n")


if __name__ == "__main__":
    main()
