"""Record what the usual libraries of Linux systems export, for machines that are unknown to `tfport lib`.

    python tools/libraries/record_system_libraries.py ROOT…

ROOT is the root of an unpacked image, or `/`. Writes src/tfport/lib/system_libraries.json.xz: for
each library of `SYSTEM_LIBRARIES` the libraries that it needs and the names to which the loader binds
a symbol without a version, grouped by the systems that have them. A system is named by its machine
and the newest version of GLIBC that its libc defines.
"""

import sys
from collections import defaultdict
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.compact_json import write_json

from tfport.atlas.versions import version_key
from tfport.formats.elf.library import ARM, X86, ElfLibrary
from tfport.formats.elf.symbols import Undefined
from tfport.lib.host_system import RECORDED, SYSTEM_LIBRARIES, HostSystem


def main(roots: list[str]) -> None:
    systems = sorted((system for root in roots if (system := system_in(Path(root)))), key=order)
    names = [[system.machine, glibc(system)] for system in systems]
    libraries = {name: record for name in SYSTEM_LIBRARIES if (record := library_record(name, systems))}
    write_json(RECORDED, {"systems": names, "libraries": libraries})
    print(names, list(libraries), RECORDED.stat().st_size)


def library_record(name: str, systems: list[HostSystem]) -> dict | None:
    """What a library of each system needs and exports; None if no system has it."""
    needed: list[list[str] | None] = []
    having: dict[str, list[int]] = defaultdict(list)
    for number, system in enumerate(systems):
        found = system.find(name)
        needed.append(found[1].needed if found else None)
        for symbol in exported(found[1]) if found else ():
            having[symbol].append(number)
    groups: dict[str, list[str]] = defaultdict(list)
    for symbol, numbers in sorted(having.items()):
        groups[",".join(map(str, numbers))].append(symbol)
    symbols = {numbers: " ".join(names) for numbers, names in groups.items()}
    return {"needed": needed, "symbols": symbols} if having else None


def system_in(root: Path) -> HostSystem | None:
    candidates = (HostSystem(root.absolute(), machine) for machine in (X86, ARM))
    return next((system for system in candidates if system.find("libc.so.6")), None)


def order(system: HostSystem) -> tuple:
    return system.machine, version_key(glibc(system))


def glibc(system: HostSystem) -> str:
    """The version of GLIBC: the newest that its library defines."""
    versions = system.find("libc.so.6")[1].defined_versions
    return max((v[6:] for v in versions if v.startswith("GLIBC_2")), key=version_key)


def exported(library: ElfLibrary) -> list[str]:
    """The names to which the loader binds a symbol without a version; those of versions are no symbols."""
    names = library.symbols.defined - library.defined_versions
    return [name for name in names if library.symbols.defines(Undefined(name, is_weak=False))]


if __name__ == "__main__":
    main(sys.argv[1:])
