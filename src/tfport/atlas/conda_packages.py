"""Read conda's lists of packages: environment.yml, and the output of `conda list`.

The build string of a package says more than its version: `cuda112py39h9333c2f_1` is a build of
TensorFlow for CUDA 11.2 and Python 3.9, `gpu_py39h8236f22_0` one for GPUs.
"""

from __future__ import annotations

import re

from tfport.atlas.atlas import ARM, X86
from tfport.atlas.package_requirement import PackageList, PackageRequirement, canonical_name
from tfport.atlas.requirements import LONGEST, parse_requirement, pinned, requirement_if_valid
from tfport.errors import Error, UnreadableFile

CONDA_FILE = re.compile(r"(?:.*/)?([^/]+)-([^-/]+)-([^-/]+)\.(?:conda|tar\.bz2)(?:#.*)?")
CONDA_SPEC = re.compile(r"(?:.*::)?([\w.-]+)\s*(.*)")
CONDA_NOTE = "conda builds are not recorded: the wheels of the same releases are used instead"
CONDA_PLATFORM = re.compile(r"^# platform: linux-(64|aarch64)\s*$", re.MULTILINE)
CONDA_LINE = re.compile(r"([\w.-]+)(?:\s+|=)([\w.!+]+)(?:(?:\s+|=)(\S+).*)?")
FROM_PIP = "pypi"
BUILD = re.compile(
    r"(?:(?P<gpu>gpu_)|cuda_?(?P<cuda>\d{2,3})_?|\w*?_)?py(?P<python>\d{2,3})(?:h\w+)?(?:_\w+)?"
)
"""The build string of a package that is made for one Python."""


def read_explicit(path: str, text: str) -> PackageList:
    """Read the output of `conda list --explicit`: the URL of each package."""
    files = (CONDA_FILE.fullmatch(line.strip()) for line in text.splitlines() if len(line) < LONGEST)
    listing = PackageList(notes=[CONDA_NOTE], platform=conda_platform(text))
    for file in filter(None, files):
        _add(listing, pinned(conda_name(file[1]), file[2]), file[1], file[3])
    return listing


def read_conda_list(path: str, text: str) -> PackageList:
    """Read the output of `conda list` and `conda list --export`: columns, or `name=version=build`."""
    lines = (CONDA_LINE.fullmatch(line.strip()) for line in text.splitlines() if len(line) < LONGEST)
    listing = PackageList(platform=conda_platform(text))
    for line in filter(None, lines):
        wanted, build = pinned(conda_name(line[1]), line[2]), line[3] or ""
        _add(listing, wanted, line[1], build)
        if wanted and wanted.package == "tensorflow" and not build.startswith(FROM_PIP):
            listing.notes = [CONDA_NOTE]
    return listing


def conda_platform(text: str) -> str:
    match = CONDA_PLATFORM.search(text)
    return "" if match is None else X86 if match[1] == "64" else ARM


def conda_name(name: str) -> str:
    """Map conda's other names of the same release to `tensorflow`."""
    return "tensorflow" if canonical_name(name) in ("tensorflow-base", "tensorflow-gpu") else name


def _add(listing: PackageList, wanted: PackageRequirement | None, name: str, build: str) -> None:
    """Add a package, and what its name and build string say about GPUs and Python."""
    if wanted is None:
        return
    listing.wanted.append(wanted)
    if wanted.package != "tensorflow" or build.startswith(FROM_PIP):
        return
    match = BUILD.fullmatch(build)
    if canonical_name(name) == "tensorflow-gpu" or build.startswith(("gpu_", "cuda")):
        listing.device = "gpu"
    if match and match["cuda"]:
        listing.cuda["cudart"] = f"{match['cuda'][:-1]}.{match['cuda'][-1]}"
    if match and not listing.python:
        listing.python = f"{match['python'][0]}.{match['python'][1:]}"


def read_conda(path: str, text: str) -> PackageList:
    """Read conda's environment.yml: the list `dependencies`, and the list `pip` in it."""
    if not re.search(r"^dependencies\s*:", text, re.MULTILINE):
        raise UnreadableFile(f"{path}: YAML, but not a conda environment: expected `dependencies`")
    listing, inside, pip = PackageList(), False, None
    for line in text.splitlines():
        bare = re.sub(r"(^|\s)#.*", "", line).rstrip()
        indent = len(bare) - len(bare.lstrip())
        item = bare.strip().removeprefix("-").strip().strip("\"'")
        if not item or len(item) > LONGEST:
            continue
        if not indent and not bare.startswith("-"):
            inside, pip = bare.startswith("dependencies"), None
        elif inside and item == "pip:":
            pip = indent
        elif inside and pip is not None and indent > pip:
            listing.wanted += pip_line(item)
        elif inside:
            pip = None
            add_conda_spec(listing, item)
            listing.notes = [CONDA_NOTE]
    return listing


def pip_line(item: str) -> list[PackageRequirement]:
    try:
        wanted = parse_requirement(item)
    except Error:
        return []  # an option, a folder or a file
    return [wanted] if wanted else []


def add_conda_spec(listing: PackageList, item: str) -> None:
    """Add a spec: `tensorflow=2.8`, `conda-forge::tensorflow==2.8.0`, `tensorflow=2.8.0=gpu_py39`."""
    match = CONDA_SPEC.fullmatch(item.partition("[")[0].strip())
    if match is None:
        return
    name, versions = conda_name(match[1]), re.sub(r"\s+(?=[^<>=!~,|\s]+$)", "=", match[2].strip())
    build = ""
    if exact := re.fullmatch(r"(={0,2})\s*([\d.]+)(\.?\*)?(=.*)?", versions):
        # one equals sign matches any version with this prefix
        fuzzy = exact[3] or (exact[1] != "==" and not exact[4])
        versions = f"=={exact[2].rstrip('.')}{'.*' if fuzzy else ''}"
        build = (exact[4] or "").removeprefix("=")
    wanted = requirement_if_valid(name, versions) or PackageRequirement(canonical_name(name))
    _add(listing, wanted, match[1], build.replace("*", ""))
