"""The SQLite files of the atlas are its only store: tools/atlas reads all of it back and adds builds."""

import json
import sqlite3
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "tools/atlas"))

import bits
import kernel_classes
from add_records import add_records
from atlas_file import ATLAS, AtlasContent, RecordedBuild, RecordedRegistry
from records import FACTS_OF_RECORD, Record
from symbols_file import SYMBOLS, SymbolContent

from tfport.atlas.atlas import ARM
from tfport.atlas.symbols import symbol_hash
from tfport.formats.proto.graph_pb2 import OpDef, OpList
from tfport.formats.proto.kernel_pb2 import KernelList

RELEASE = "2.21.0"


def tables(path: Path) -> dict[str, list[tuple]]:
    """All rows of a database, by table."""
    database = sqlite3.connect(path)
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows = {name: database.execute(f"SELECT * FROM {name}").fetchall() for name in names}
    database.close()
    return rows


@pytest.fixture(scope="module")
def content() -> AtlasContent:
    return AtlasContent.read()


def test_the_atlas_is_written_as_it_was_read(content, tmp_path):
    content.write(tmp_path / "atlas.sqlite")
    assert tables(tmp_path / "atlas.sqlite") == tables(ATLAS)


def test_symbols_are_written_as_they_were_read(tmp_path):
    SymbolContent.read().write(tmp_path / "symbols.sqlite")
    assert tables(tmp_path / "symbols.sqlite") == tables(SYMBOLS)


def test_kernel_classes_are_written_as_they_were_read(tmp_path):
    kernel_classes.write(tmp_path / "classes.sqlite", kernel_classes.read(kernel_classes.OUT))
    assert tables(tmp_path / "classes.sqlite") == tables(kernel_classes.OUT)


def test_a_release_that_is_removed_and_recorded_again_gives_the_same_atlas(content, tmp_path):
    number = content.find(f"tensorflow-{RELEASE}")
    folder = export(content.builds[number], content.registry(number), tmp_path / f"tensorflow-{RELEASE}")
    smaller = AtlasContent.read()
    smaller.remove(number)
    smaller.write(tmp_path / "atlas.sqlite")
    SymbolContent(["tensorflow==2.20.0"], {}).write(tmp_path / "symbols.sqlite")
    assert add_records([folder], tmp_path / "atlas.sqlite", tmp_path / "symbols.sqlite") == [folder.name]
    assert tables(tmp_path / "atlas.sqlite") == tables(ATLAS)
    symbols = SymbolContent.read(tmp_path / "symbols.sqlite")
    assert symbols.names == ["tensorflow==2.20.0", f"tensorflow=={RELEASE}"]
    assert symbols.exported(1) == {symbol_hash(b"TF_Version"), symbol_hash(b"TF_NewGraph")}
    assert symbols.exported_by_framework(1) == {symbol_hash(b"TF_Version")}


def export(build: RecordedBuild, registry: RecordedRegistry, folder: Path) -> Path:
    """Write a build of the atlas as `collect` records it, with its own symbols."""
    folder.mkdir()
    Record(build.package, build.version, build.wheel, build.sha256, folder, build.platform).write()
    facts = {k: v for k, v in json.loads(build.facts).items() if k not in FACTS_OF_RECORD}
    (folder / "facts.json").write_text(json.dumps(facts))
    ops, kernels = by_provider(registry.ops), by_provider(registry.kernels)
    for provider in ops.keys() | kernels.keys():
        place = folder / ("libraries" if provider else ".") / (provider or "ops")
        place.parent.mkdir(parents=True, exist_ok=True)
        definitions = OpList(op=[OpDef.FromString(body) for body in ops.get(provider, ())])
        place.with_name(f"{place.name}.pb").write_bytes(definitions.SerializeToString())
        merged = KernelList(
            kernel=[k for b in kernels.get(provider, ()) for k in KernelList.FromString(b).kernel]
        )
        name = f"{place.name}.kernels.pb" if provider else "kernels.pb"
        place.with_name(name).write_bytes(merged.SerializeToString())
    (folder / "symbols").mkdir()
    for library, names in {
        "libtensorflow_cc.so.2.z": b"TF_NewGraph",
        "libtensorflow_framework.so.2.z": b"TF_Version",
    }.items():
        (folder / "symbols" / library).write_bytes(zlib.compress(names))
    return folder


def by_provider(keys) -> dict[str, list[bytes]]:
    bodies: dict[str, list[bytes]] = {}
    for _, provider, body in sorted(keys):
        bodies.setdefault(provider, []).append(body)
    return bodies


def test_an_equal_registry_makes_an_alias(content, tmp_path):
    number = content.find("tensorflow-2.8.4")
    renamed = replace(content.builds[number], package="tensorflow-cpu-aws", platform=ARM)
    folder = export(renamed, content.registry(number), tmp_path / renamed.record_name)
    content.write(tmp_path / "atlas.sqlite")
    SymbolContent().write(tmp_path / "symbols.sqlite")
    add_records([folder], tmp_path / "atlas.sqlite", tmp_path / "symbols.sqlite")
    written = AtlasContent.read(tmp_path / "atlas.sqlite")
    assert written.builds[written.find(renamed.record_name)].alias_of == "tensorflow-2.8.4"


@pytest.mark.parametrize("position", range(6))
def test_a_bit_is_inserted_and_removed(position):
    assert bits.remove(bits.insert(0b10110, position), position) == 0b10110
    assert bits.insert(0b10110, position, True) >> position & 1 == 1
    assert bits.from_bytes(bits.to_bytes(0b10110)) == 0b10110
