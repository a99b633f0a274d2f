"""Tables and modules in `check`, `env`, `explain` and `lib` cite files that exist, and dates stand once."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/tfport"
FOLDERS = [PACKAGE / name for name in ("check", "env", "explain", "lib")]
TABLES = [table for folder in FOLDERS for table in sorted(folder.rglob("*.toml"))]
CITED = re.compile(r"`([\w./…*-]*/[\w./…*-]*|[\w…*-]+\.(?:py|toml|json|md))`")
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_path_in_a_comment_exists(table):
    comments = "\n".join(line for line in table.read_text().splitlines() if line.startswith("#"))
    missing = [path for path in CITED.findall(comments) if not _exists(table.parent, path)]
    assert missing == []


def _exists(folder: Path, path: str) -> bool:
    """Whether a path exists, relative to the table, the package or the repository."""
    return any((base / path).exists() for base in (folder, PACKAGE, ROOT))


def test_each_upload_date_is_written_once():
    dates: dict[str, list[str]] = {}
    modules = [module for folder in FOLDERS for module in sorted(folder.rglob("*.py"))]
    for module in [*modules, PACKAGE / "atlas/package_dates.py"]:
        for date in DATE.findall(module.read_text()):
            dates.setdefault(date, []).append(module.name)
    assert dates == {}, "package_dates.json has them"
