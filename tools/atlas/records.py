"""What was recorded: one folder for each release, outside the repository.

A record is a folder such as `tensorflow-1.4.1`:

    record.json     package, release, wheel, its SHA-256
    ops.pb          an OpList
    kernels.pb      a KernelList, from 1.11 on
    libraries/…     an OpList for each library of the wheel that adds ops, or why it does not load
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

CACHE = Path("~/.cache/tfport/atlas").expanduser()


@dataclass(frozen=True)
class Record:
    """One release, and the wheel that was asked."""

    package: str
    release: str
    wheel: str
    sha256: str
    folder: Path

    @property
    def order(self) -> tuple[int, ...]:
        return release_order(self.release)

    def op_lists(self) -> Iterator[tuple[str | None, bytes]]:
        """Each serialized OpList with the library that brings it; None is the release itself."""
        yield None, (self.folder / "ops.pb").read_bytes()
        libraries = self.folder / "libraries"
        for path in sorted(libraries.rglob("*.pb")):
            yield str(path.relative_to(libraries)).removesuffix(".pb"), path.read_bytes()

    def write(self) -> None:
        facts = {key: value for key, value in asdict(self).items() if key != "folder"}
        (self.folder / "record.json").write_text(json.dumps(facts, indent=1) + "\n")


def release_order(release: str) -> tuple[int, ...]:
    """2.10.1 comes after 2.9.3."""
    return tuple(map(int, release.split(".")))


def folder_of(cache: Path, package: str, release: str) -> Path:
    return cache / f"{package}-{release}"


def recorded(cache: Path) -> list[Record]:
    """All records, the oldest release first."""
    found = [Record(**json.loads(p.read_text()), folder=p.parent) for p in cache.glob("*/record.json")]
    return sorted(found, key=lambda r: (r.order, r.package))
