"""Records: what was collected about builds that are not in the atlas yet, one folder for each.

A record is a folder such as `tensorflow-gpu-1.4.1` or `tensorflow-2.21.0-aarch64`:

    record.json            package, release, platform, wheel, its SHA-256; alias_of: the build
                           with the same libraries, whose registry is not written again;
                           kernels_partial: whether parts of each KernelDef are unknown
    ops.pb                 an OpList, sorted
    kernels.pb             a KernelList, sorted
    kernels_session.pb     a KernelList of the kernels that exist only after a session was created
    libraries/PATH.pb      an OpList for each library of the wheel that adds ops
    …/PATH.kernels.pb      a KernelList of the kernels that come with it, if any
    …/PATH.txt             or why it does not load
    facts.json             how it was built: see `facts`
    symbols/LIBRARY.z      the names that a library exports: sorted, a line each, compressed by zlib

An alias has neither a registry nor symbols. `add_records` adds records to the SQLite files of
src/tfport/atlas, which are the store; after that a record is no longer needed.
"""

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from atlas_file import Key, RecordedBuild, RecordedRegistry, record_name, sorted_json

from tfport.atlas.atlas import ARM, X86
from tfport.atlas.symbols import symbol_hash
from tfport.formats.proto.graph_pb2 import OpDef, OpList
from tfport.formats.proto.kernel_pb2 import KernelDef, KernelList

CACHE = Path("~/.cache/tfport/atlas").expanduser()
ADDON_CACHE = Path("~/.cache/tfport/atlas-addons").expanduser()
FRAMEWORK = "libtensorflow_framework.so*.z"
FACTS_OF_RECORD = ("alias_of", "kernels_partial", "requires_tensorflow", "tried_with", "refused")


@dataclass(frozen=True)
class Record:
    """One build, and the wheel that was examined."""

    package: str
    release: str
    wheel: str
    sha256: str
    folder: Path
    platform: str = X86
    alias_of: str | None = None
    kernels_partial: bool = False

    def write(self) -> None:
        fields = {k: v for k, v in asdict(self).items() if k != "folder" and v is not None}
        (self.folder / "record.json").write_text(json.dumps(fields, indent=1) + "\n")


def release_order(release: str) -> tuple[int, ...]:
    """2.10.1 comes after 2.9.3, and 2.15.0.post1 after 2.15.0."""
    return tuple(map(int, re.findall(r"\d+", release)))


def folder_of(cache: Path, package: str, release: str, platform: str = X86) -> Path:
    return cache / record_name(package, release, platform)


def read_record(folder: Path) -> dict:
    record = json.loads((folder / "record.json").read_text())
    # the platform of an add-on is that of its wheel; one without machine code is recorded on x86-64
    platform = ARM if ARM in record.get("platform", X86) else X86
    return {"version": record.get("release"), **record, "platform": platform}


def recorded_build(folder: Path, alias_of: str | None = None) -> RecordedBuild:
    """Return the row of a record; `alias_of` replaces what the record says."""
    record = read_record(folder) | ({"alias_of": alias_of} if alias_of else {})
    named = (record[name] for name in ("package", "version", "platform", "wheel", "sha256"))
    return RecordedBuild(*named, sorted_json(facts(folder, record)))


def facts(folder: Path, record: dict) -> dict:
    """What the files of the wheel say, and what the record says besides its registry."""
    file = folder / "facts.json"
    all_facts = json.loads(file.read_text()) if file.exists() else {}
    all_facts["requires"] = all_facts.get("requires", [])
    return all_facts | {name: record[name] for name in FACTS_OF_RECORD if record.get(name)}


def recorded_registry(folder: Path) -> RecordedRegistry:
    """What a record registers, in the form in which the atlas stores it."""
    own = {op.name for op in op_list(folder / "ops.pb")}
    ops: set[Key] = set()
    for provider, op in definitions(folder):
        if not provider or op.name not in own:  # ignore ops that a library registers again
            ops.add((op.name, provider, without_prose(op).SerializeToString(deterministic=True)))
    kernels = {
        (op, provider, KernelList(kernel=kernels).SerializeToString(deterministic=True))
        for provider, op, kernels in kernel_sets(folder)
    }
    return RecordedRegistry(frozenset(ops), frozenset(kernels))


def op_list(path: Path) -> list[OpDef]:
    return list(OpList.FromString(path.read_bytes()).op) if path.exists() else []


def definitions(folder: Path) -> Iterator[tuple[str, OpDef]]:
    """Yield each op with the library that registers it; an empty name is the package itself."""
    for op in op_list(folder / "ops.pb"):
        yield "", op
    libraries = folder / "libraries"
    for path in sorted(libraries.rglob("*.so.pb")):
        for op in op_list(path):
            yield str(path.relative_to(libraries)).removesuffix(".pb"), op


def kernel_sets(folder: Path) -> Iterator[tuple[str, str, list[KernelDef]]]:
    """Yield the kernels of each library, by op; those of a session belong to the package itself."""
    files = [("", folder / name) for name in ("kernels.pb", "kernels_session.pb")]
    libraries = folder / "libraries"
    files += [
        (str(path.relative_to(libraries)).removesuffix(".kernels.pb"), path)
        for path in sorted(libraries.rglob("*.kernels.pb"))
    ]
    by_op: dict[tuple[str, str], list[tuple[bytes, KernelDef]]] = {}
    for provider, path in files:
        if path.exists():
            for kernel in KernelList.FromString(path.read_bytes()).kernel:
                body = kernel.SerializeToString(deterministic=True)
                by_op.setdefault((kernel.op, provider), []).append((body, kernel))
    for (op, provider), kernels in sorted(by_op.items()):
        yield provider, op, [kernel for _, kernel in sorted(kernels, key=lambda pair: pair[0])]


def without_prose(op: OpDef) -> OpDef:
    """Remove the documentation from a definition."""
    for message in (op, *op.input_arg, *op.output_arg, *op.attr):
        message.ClearField("description")
    op.ClearField("summary")
    return op


def exported_symbols(folder: Path, pattern: str = "*.z") -> set[int]:
    """The hashes of the symbols that the libraries of a record export."""
    files = [zlib.decompress(file.read_bytes()) for file in (folder / "symbols").glob(pattern)]
    return {symbol_hash(symbol) for names in files for symbol in names.split()}
