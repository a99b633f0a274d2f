"""Add records to atlas.sqlite and symbols.sqlite in src/tfport/atlas.

    python tools/atlas/add_records.py [--records FOLDER …] [--keep]

Builds that the files already have stay as they are, unless there is a record of them.
Add-ons that register nothing are left out: list them in addons.toml as `without_ops`.
Records are deleted once they are stored.
"""

import argparse
import shutil
import sys
from pathlib import Path

from aliases import Build, same_registry
from atlas_file import ATLAS, AtlasContent, RecordedBuild, RecordedRegistry
from records import (
    ADDON_CACHE,
    CACHE,
    FRAMEWORK,
    exported_symbols,
    read_record,
    recorded_build,
    recorded_registry,
)
from symbols_file import SYMBOLS, SymbolContent, name_of

from tfport.atlas.atlas import TENSORFLOWS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=Path, nargs="+", default=[CACHE, ADDON_CACHE])
    parser.add_argument("--atlas", type=Path, default=ATLAS)
    parser.add_argument("--symbols", type=Path, default=SYMBOLS)
    parser.add_argument("--keep", action="store_true", help="keep the records that were added")
    args = parser.parse_args()
    folders = [path.parent for cache in args.records for path in sorted(cache.glob("*/record.json"))]
    if not folders:
        sys.exit(f"no records in {', '.join(map(str, args.records))}")
    added = add_records(folders, args.atlas, args.symbols)
    print(f"{len(added)} builds added: {', '.join(added)}")
    for folder in folders:
        if folder.name not in added:
            print(f"{folder.name} registers nothing: add it to `without_ops` in addons.toml")
        elif not args.keep:
            shutil.rmtree(folder)


def add_records(folders: list[Path], atlas: Path, symbols: Path) -> list[str]:
    """Add the records in these folders to the two files; return the names of the builds."""
    content, exports = AtlasContent.read(atlas), SymbolContent.read(symbols)
    added = []
    for folder in sorted(folders, key=is_alias):  # what an alias refers to comes first
        build, registry = build_and_registry(folder, content)
        if not registry.ops and not registry.kernels:
            continue
        content.add(build, registry)
        if build.package in TENSORFLOWS:
            add_symbols(folder, build, content, exports)
        added.append(build.record_name)
    content.write(atlas)
    exports.write(symbols)
    return added


def is_alias(folder: Path) -> bool:
    return bool(read_record(folder).get("alias_of"))


def build_and_registry(folder: Path, content: AtlasContent) -> tuple[RecordedBuild, RecordedRegistry]:
    """Return the build of a record and what it registers; an equal registry makes it an alias."""
    record = read_record(folder)
    if alias := record.get("alias_of"):
        number = content.find(alias)
        if number is None:
            sys.exit(f"{folder.name} is an alias of {alias}, which is not in the atlas")
        original = content.builds[number].alias_of or alias
        return recorded_build(folder, original), content.registry(number)
    registry = recorded_registry(folder)
    build: Build = record["package"], record["version"], record["platform"]
    alias = same_registry(build, registry, content) if record["package"] in TENSORFLOWS else None
    return recorded_build(folder, alias), registry


def add_symbols(folder: Path, build: RecordedBuild, content: AtlasContent, exports: SymbolContent) -> None:
    """Add the symbols of a build; an alias without its own exports those of the build it refers to."""
    name = name_of(build)
    if (folder / "symbols").exists():
        exported, framework = exported_symbols(folder), exported_symbols(folder, FRAMEWORK)
    else:
        twin = exports.names.index(name_of(content.builds[content.find(read_record(folder)["alias_of"])]))
        exported, framework = exports.exported(twin), exports.exported_by_framework(twin)
    if name in exports.names:
        exports.remove(exports.names.index(name))
    in_order = [name_of(b) for b in content.builds if b.package in TENSORFLOWS]
    recorded_before = set(exports.names)
    number = sum(other in recorded_before for other in in_order[: in_order.index(name)])
    exports.insert(number, name, exported, framework)


if __name__ == "__main__":
    main()
