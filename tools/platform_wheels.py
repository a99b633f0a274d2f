"""Which systems have wheels of everything that tfport needs: `make platform-wheels`, needs the package index.

pip resolves the dependencies for a system that this machine is not (`--platform`), with wheels only, and
downloads nothing. The table goes to docs/evidence/platforms.md, whose other sections stay.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/evidence/platforms.md"
SYSTEMS = {
    "Linux x86-64": [f"manylinux_2_{minor}_x86_64" for minor in range(28, 16, -1)] + ["manylinux2014_x86_64"],
    "Linux ARM64": [f"manylinux_2_{minor}_aarch64" for minor in range(28, 16, -1)]
    + ["manylinux2014_aarch64"],
    "macOS ARM64": [
        f"macosx_{major}_0_{kind}" for major in (14, 13, 12, 11) for kind in ("arm64", "universal2")
    ],
    "macOS x86-64": [
        f"macosx_{major}_0_{kind}" for major in (14, 13, 12, 11) for kind in ("x86_64", "universal2")
    ]
    + [f"macosx_10_{minor}_{kind}" for minor in (15, 14, 13, 12, 9) for kind in ("x86_64", "universal2")],
    "Windows x86-64": ["win_amd64"],
    "Windows ARM64": ["win_arm64"],
}
MARKERS = {"Windows": "win32", "macOS": "darwin", "Linux": "linux"}
PYTHONS = ("3.11", "3.13", "3.14")
PARTS = ("", "run", "serve")


def requirements(extra: str, system: str, python: str) -> list[str]:
    """What tfport, or an extra with those that it includes, requires on a system, by its markers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    texts = project["optional-dependencies"][extra] if extra else project["dependencies"]
    where = {"sys_platform": MARKERS[system.partition(" ")[0]], "python_version": python}
    wanted = [Requirement(text) for text in texts]
    included = [
        one for r in wanted if r.name == "tfport" for e in r.extras for one in requirements(e, system, python)
    ]
    own = [r for r in wanted if r.name != "tfport" and (r.marker is None or r.marker.evaluate(where))]
    return [*included, *(f"{r.name}{r.specifier}" for r in own)]


def lacking(extra: str, system: str, python: str) -> list[str]:
    """The requirements that have no wheel there, alone or because of what they need."""
    where = [word for tag in SYSTEMS[system] for word in ("--platform", tag)]
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "-q",
        "install",
        "--dry-run",
        "--target",
        "none",
    ]
    pip += ["--only-binary", ":all:", "--python-version", python, "--implementation", "cp", *where]

    def resolves(texts: list[str]) -> bool:
        return subprocess.run([*pip, *texts], capture_output=True, check=False).returncode == 0

    texts = requirements(extra, system, python)
    if resolves(texts):
        return []
    return [re.split(r"[^\w-]", text)[0] for text in texts if not resolves([text])] or ["together"]


def main() -> None:
    rows = {}
    for system in SYSTEMS:
        for extra in PARTS:
            cells = {python: lacking(extra, system, python) for python in PYTHONS}
            rows[system, extra] = cells
            print(system, extra or "tfport", json.dumps(cells), flush=True)
    _, heading, others = PAGE.read_text("utf-8").partition("\n## ")
    lines = [
        "# Systems that have wheels",
        "",
        "What pip resolves with wheels only (`make platform-wheels`). A cell names what has no wheel:",
        "pip then needs a compiler. An extra's row leaves out what `tfport` itself needs.",
        "",
        f"| system | install | {' | '.join(PYTHONS)} |",
        f"|---|---|{'---|' * len(PYTHONS)}",
    ]
    for (system, extra), cells in rows.items():
        shown = " | ".join(", ".join(cells[python]) or "✓" for python in PYTHONS)
        lines.append(f"| {system} | `tfport{f'[{extra}]' if extra else ''}` | {shown} |")
    PAGE.write_text("\n".join(lines) + "\n" + heading + others, encoding="utf-8")


if __name__ == "__main__":
    main()
