"""Write docs/evidence/scan.md: what `scan` says about reported bypasses, and fixes in the sources of Keras.

    python tools/scan/evidence.py [WHEELS]

Writes every file of `tests/scan/hostile_cases.py` and `reported_cases.py`, and scans it. Downloads the wheels
of Keras to the folder WHEELS, unless they are there, and reads their sources.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.scan.hostile_cases import HOSTILE, Case  # noqa: E402
from tests.scan.reported_cases import REFUSED, REPORTED  # noqa: E402

import tfport  # noqa: E402

PAGE = ROOT / "docs/evidence/scan.md"
ADVISORIES = ROOT / "src/tfport/scan/keras_advisories.toml"
LONGEST = 160


@dataclass(frozen=True)
class Fix:
    """What a fix looks like in the sources of Keras, and the releases before and after it."""

    advisory: str
    file: str
    text: str
    releases: tuple[tuple[str, str], ...]
    """The last release without it and the first with it, of each branch."""


FIXES = (
    Fix("CVE-2024-3660", "layers/core/lambda_layer.py", r"if serialization_lib\.in_safe_mode\(\):\s+raise",
        (("2.11.0", "2.12.0"),)),
    Fix("CVE-2025-1550", "saving/serialization_lib.py", r'if package in \{"keras", "keras_hub"',
        (("3.8.0", "3.9.0"),)),
    Fix("CVE-2025-8747", "saving/serialization_lib.py", r'LOADING_APIS = [^)]*"keras\.utils\.get_file"',
        (("3.10.0", "3.11.0"),)),
    Fix("CVE-2025-9906", "saving/serialization_lib.py", r"LOADING_APIS = [^)]*enable_unsafe_deserialization",
        (("3.10.0", "3.11.0"),)),
    Fix("CVE-2025-9905", "legacy/saving/legacy_h5_format.py", r"SafeModeScope\(safe_mode\)",
        (("3.11.2", "3.11.3"),)),
    Fix("CVE-2025-49655", "utils/torch_utils.py", r"if in_safe_mode\(\):\s+raise", (("3.11.2", "3.11.3"),)),
    Fix("CVE-2025-12058", "layers/preprocessing/index_lookup.py",
        r"if serialization_lib\.in_safe_mode\(\):\s+raise", (("3.11.3", "3.12.0"),)),
    Fix("CVE-2026-1462", "export/tfsm_layer.py", r"if effective_safe_mode is not False:\s+raise",
        (("3.12.0", "3.12.1"), ("3.13.1", "3.13.2"))),
    Fix("CVE-2026-1669", "saving/saving_lib.py", r"if dataset\.external:\s+raise",
        (("3.12.0", "3.12.1"), ("3.13.1", "3.13.2"))),
)  # fmt: skip


def main() -> int:
    with tempfile.TemporaryDirectory() as temporary:
        wheels = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        rows = [row for groups in (REPORTED, HOSTILE) for row in _scanned(groups)]
        fixes = [_confirmed(fix, wheels) for fix in FIXES]
    missed = [row for row in rows if not row.endswith("| yes |")]
    PAGE.write_text(_page(rows, len(missed), fixes))
    print(f"{len(rows) - len(missed)} of {len(rows)} caught", *missed, sep="\n")
    return bool(missed)


def _scanned(groups: dict[str, dict[str, Case]]) -> Iterator[str]:
    for reported, cases in groups.items():
        for name, case in cases.items():
            with tempfile.TemporaryDirectory() as folder:
                said, is_caught = _said(case, Path(folder))
            yield f"| {name} | {reported} | {said} | {'yes' if is_caught else '**no**'} |"


def _said(case: Case, folder: Path) -> tuple[str, bool]:
    """The finding about a file in the words of `scan`, and whether it is the right one."""
    maker, expected = case
    try:
        risks = tfport.scan(maker(folder)).risks
    except tfport.UnreadableFile as error:
        return f"exit code 2: {_shown(str(error), folder)}", expected == REFUSED
    severity, *codes = expected.split()
    right = [risk for risk in risks if risk.severity == severity and risk.code in codes]
    if not (risk := next(iter(right or risks), None)):
        return "nothing", False
    said = "; ".join(filter(None, (risk.message, risk.why)))
    return f"{risk.severity}[{risk.code}]: {_shown(said, folder)}", bool(right)


def _shown(text: str, folder: Path) -> str:
    plain = re.sub(r"\s+", " ", text.replace(f"{folder}/", "")).replace("|", "\\|").replace("\0", "\\0")
    cut = plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + "…"
    return cut if cut.count("`") % 2 == 0 else cut + "`"


def _confirmed(fix: Fix, wheels: Path) -> str:
    (advisory,) = (
        entry for entry in tomllib.loads(ADVISORIES.read_text())["advisory"] if entry["id"] == fix.advisory
    )
    is_right = all(
        not re.search(fix.text, _source(before, fix.file, wheels))
        and re.search(fix.text, _source(after, fix.file, wheels))
        for before, after in fix.releases
    )
    before, after = (", ".join(pair) for pair in zip(*fix.releases, strict=True))
    fixed, outcome = ", ".join(advisory["fixed"]), "yes" if is_right else "**no**"
    return f"| {fix.advisory} | `{fix.file}` | {before} | {after} | {fixed} | {outcome} |"


def _source(release: str, file: str, wheels: Path) -> str:
    if not list(wheels.glob(f"keras-{release}-*.whl")):
        download = ["download", "-q", f"keras=={release}", "--no-deps", "--only-binary", ":all:"]
        options = ["--ignore-requires-python", "-d", str(wheels)]
        subprocess.run([sys.executable, "-m", "pip", *download, *options], check=True)
    (wheel,) = wheels.glob(f"keras-{release}-*.whl")
    with zipfile.ZipFile(wheel) as members:
        (name,) = {f"keras/{file}", f"keras/src/{file}"}.intersection(members.namelist())
        return members.read(name).decode()


def _page(rows: list[str], missed: int, fixes: list[str]) -> str:
    reported, listed, confirmed = sum(map(len, REPORTED.values())), "\n".join(rows), "\n".join(fixes)
    return f"""# Reported bypasses of scanners

Written by `tools/scan/evidence.py`. [`tfport scan`](../commands/scan.md) examined a file for each way around
ModelScan and modelaudit found in their public issues, pull requests and tests, as far as tfport reads the
format: graphs, SavedModels, Keras files, TensorFlow Lite and TensorFlow.js models, and pickles and archives
next to them. We made the files ourselves; the numbers are the two projects' issues and pull requests.

**{len(rows) - missed} of {len(rows)}** are caught: `scan` reports the finding that the case must have, or
refuses the file with exit code 2 if TensorFlow refuses it too. The first {reported} were taken from reports
one by one after the rules were written: 19 of them were missed then, or only gave a warning, and `scan` was
corrected. The others were available while the rules were written, and name the reports by group.

Not in the table: ModelScan 343 and 358, whose reporters withheld the details; formats that tfport does not
read (ONNX, GGUF, safetensors and others); and ops that modelaudit reports although they only compute, such
as `ParseTensor` and `DecodeJpeg`. A `note` is about a class that is not part of Keras: the file has its name
but not its code. No list of functions that a pickle must not name is complete: every pickle is at least a
warning.

| case | reported | what scan says | caught |
|---|---|---|---|
{listed}

## Fixes of Keras

`scan` names the published vulnerability that a file exploits, and the first Keras release without it
(`src/tfport/scan/keras_advisories.toml`). Each fix was found in the wheels' sources, not in a changelog: one
release does not have the check, and the next release on its branch does.

| advisory | source | last without the check | first with it | named by scan | confirmed |
|---|---|---|---|---|---|
{confirmed}

The sources refuse the lambda of CVE-2024-3660 since 2.12.0; scan names 2.13.1, as the advisory does.
"""


if __name__ == "__main__":
    sys.exit(main())
