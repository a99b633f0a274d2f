"""When versions of Python packages were uploaded to PyPI (the day of their first wheel)."""

from __future__ import annotations

UPLOADED: dict[str, dict[str, str]] = {
    "keras": {},
    "numpy": {"1.26.0": "2023-09-16", "2.0.0": "2024-06-16"},
    "protobuf": {
        "4.21.0": "2022-05-26",
        "4.22.0": "2023-02-16",
        "5.26.0": "2024-03-13",
        "6.30.0": "2025-03-05",
        "7.34.0": "2026-02-27",
    },
}
FIRST_OF_MAJOR: dict[str, dict[int, str]] = {
    "numpy": {2: "2.0.0"},
    "protobuf": {4: "4.21.0", 5: "5.26.0", 6: "6.30.0", 7: "7.34.0"},
}
"""The first version of each major version, by package."""


def first_upload(package: str) -> dict[int, str]:
    """The day on which each major version of a package first appeared."""
    return {major: UPLOADED[package][v] for major, v in FIRST_OF_MAJOR.get(package, {}).items()}
