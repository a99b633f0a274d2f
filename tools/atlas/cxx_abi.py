"""Find the releases whose x86-64 wheels do not all have the same C++ ABI.

    python tools/atlas/cxx_abi.py [PACKAGE…] [--since 1.12] [--until 2.9]

Prints the content of src/tfport/atlas/cxx_abi.py: releases whose wheels for several Pythons
differ. Only the beginning of one library of each wheel is downloaded.
"""

import argparse
import re
import sys
from collections import defaultdict

from package_index import File, files, releases
from records import release_order
from remote_zip import open_zip

LIBRARIES = re.compile(r"/(libtensorflow_framework\.so(\.[12])?|_pywrap_tensorflow(_internal)?\.so)$")
MARK = b"_ZN10tensorflow12OpDefBuilder5InputE"
NEW = b"NSt7__cxx11"
BLOCK = 1 << 20


def main() -> None:
    args = arguments()
    for package in args.packages:
        for release in releases(package):
            if release_order(args.since) <= release_order(release) < release_order(args.until + ".99"):
                abis = abi_by_python(package, release)
                print(f"{package}=={release}: {abis}", file=sys.stderr, flush=True)
                if len(set(abis.values())) > 1:
                    print(f"{package}=={release} differs: {abis}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Find releases whose wheels differ in their C++ ABI.")
    parser.add_argument("packages", nargs="*", default=["tensorflow", "tensorflow-gpu", "tensorflow-cpu"])
    parser.add_argument("--since", default="1.12")
    parser.add_argument("--until", default="2.9")
    return parser.parse_args()


def abi_by_python(package: str, release: str) -> dict[str, bool]:
    """Return for each Python whether its wheel has the new ABI; empty if there is only one wheel."""
    wheels: dict[str, list[File]] = defaultdict(list)
    for file in files(package):
        if (file.release, file.platform) == (release, "x86_64"):
            wheels[f"{file.python[0]}.{file.python[1:]}"].append(file)
    if len(wheels) < 2:
        return {}
    order = sorted(wheels, key=lambda python: [int(part) for part in python.split(".")])
    return {python: new_abi(wheels[python][0].url) for python in order}


def new_abi(url: str) -> bool:
    """Whether the functions of a wheel take strings of the new ABI."""
    with open_zip(url) as archive:
        name = next(n for n in sorted(archive.namelist(), reverse=True) if LIBRARIES.search(n))
        with archive.open(name) as library:
            seen = b""
            while block := library.read(BLOCK):
                seen = seen[-len(MARK + NEW) :] + block
                at = seen.find(MARK)
                if 0 <= at < len(seen) - len(MARK + NEW):
                    return seen.startswith(NEW, at + len(MARK))
    raise LookupError(f"{url}: {name} has no OpDefBuilder")


if __name__ == "__main__":
    main()
