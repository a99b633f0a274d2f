"""What was recorded: one folder for each build, outside the repository.

A record is a folder such as `tensorflow-gpu-1.4.1` or `tensorflow-2.21.0-aarch64`:

    record.json            package, release, platform, wheel, its SHA-256; alias_of: the record
                           with the same registry, where that is not written again;
                           kernels_partial: whether parts of each KernelDef are unknown
    ops.pb                 an OpList, sorted
    kernels.pb             a KernelList, sorted
    kernels_session.pb     a KernelList of those that are there only once a session exists, if any
    libraries/PATH.pb      an OpList for each library of the wheel that adds ops,
    …/PATH.kernels.pb      a KernelList of what comes with it, if any
    …/PATH.txt             or why it does not load
    facts.json             how it was built: see `facts`
    symbols/LIBRARY.z      the names that a library exports: sorted, a line each, compressed by zlib

An alias has no registry of its own, and where its libraries are the very same, no symbols.
`build` and `symbols` read these folders.
"""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

CACHE = Path("~/.cache/tfport/atlas").expanduser()
X86 = "x86_64"


@dataclass(frozen=True)
class Record:
    """One build, and the wheel that was asked."""

    package: str
    release: str
    wheel: str
    sha256: str
    folder: Path
    platform: str = X86
    alias_of: str | None = None
    kernels_partial: bool = False

    def write(self) -> None:
        facts = {k: v for k, v in asdict(self).items() if k != "folder" and v is not None}
        (self.folder / "record.json").write_text(json.dumps(facts, indent=1) + "\n")


def release_order(release: str) -> tuple[int, ...]:
    """2.10.1 comes after 2.9.3, and 2.15.0.post1 after 2.15.0."""
    return tuple(map(int, re.findall(r"\d+", release)))


def folder_of(cache: Path, package: str, release: str, platform: str = X86) -> Path:
    return cache / "-".join([package, release] + ([platform] if platform != X86 else []))
