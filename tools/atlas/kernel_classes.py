"""Record the C++ classes of kernels, which selective registration uses.

    python tools/atlas/kernel_classes.py 2.8.4 1.15.5 …
    python tools/atlas/kernel_classes.py 2.21.0 --folder SITE-PACKAGES/tensorflow

For each kernel of the recorded registry, the library of the release
(`tensorflow::swig::TryFindKernelClass`) returns the class that would run a node with its
device, label and types. The answers are added to src/tfport/atlas/kernel_classes.sqlite,
which is their only store.
"""

import argparse
import base64
import json
import sqlite3
import subprocess
import sys
import zlib
from contextlib import nullcontext
from pathlib import Path

from tfport.atlas.atlas import Build, atlas
from tfport.atlas.selective_registration import kernel_key
from tfport.formats.proto.graph_pb2 import AttrValue, NodeDef
from tfport.formats.proto.kernel_pb2 import KernelDef, KernelList
from tfport.registry.kernels import kernels_from

OUT = Path(__file__).parents[2] / "src/tfport/atlas/kernel_classes.sqlite"
ASK = Path(__file__).with_name("kernel_class_probe.py")
DEVICES = {"CPU": "/cpu:0", "DEFAULT": "/cpu:0"}
SCHEMA = """
CREATE TABLE release (number INTEGER PRIMARY KEY, package TEXT, version TEXT, wheel TEXT, sha256 TEXT);
CREATE TABLE class (op TEXT, releases BLOB, classes BLOB, PRIMARY KEY (op, releases)) WITHOUT ROWID;
"""
Classes = dict[str, dict[str, str]]
"""op → kernel (its key) → class."""


def main() -> None:
    args = arguments()
    recorded = read(args.out)
    for release in args.releases:
        build = atlas().find("tensorflow", release)
        if build is None or build in recorded:
            print(f"{release}: {'recorded before' if build else 'not in the atlas'}")
            continue
        recorded[build] = classes = ask(build, args.folder)
        write(args.out, recorded)
        print(f"{release}: {sum(map(len, classes.values()))} kernels have a class", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Record the C++ classes of kernels.")
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--folder", type=Path, help="folder of TensorFlow's package, instead of a wheel")
    parser.add_argument("--out", type=Path, default=OUT)
    return parser.parse_args()


def ask(build: Build, folder: Path | None) -> Classes:
    """Query the library of a build for the class of each of its kernels."""
    from wheels import unpacked

    questions = list(nodes(build))
    lines = "".join(base64.b64encode(n.SerializeToString()).decode() + "\n" for *_, n in questions)
    with nullcontext() if folder else unpacked(build.package, build.version) as wheel:
        command = [sys.executable, ASK, folder or wheel.package]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, errors="replace")
    if done.returncode:
        sys.exit(done.stderr)
    classes: Classes = {}
    for (op, key, _), name in zip(questions, json.loads(done.stdout.splitlines()[-1]), strict=True):
        if name:
            classes.setdefault(op, {})[key] = name
    return classes


def nodes(build: Build):
    """Yield a node for each kernel; the one with the highest priority if several have the same key."""
    best: dict[tuple[str, str], KernelDef] = {}
    for kernel in kernels_of(build):
        key = kernel.op, kernel_key(kernels_from([kernel])[0])
        if kernel.device_type in DEVICES and (key not in best or kernel.priority > best[key].priority):
            best[key] = kernel
    for (op, key), kernel in sorted(best.items()):
        node = NodeDef(name="node", op=op, device=DEVICES[kernel.device_type])
        for constraint in kernel.constraint:
            node.attr[constraint.name].CopyFrom(first(constraint.allowed_values))
        if kernel.label:
            node.attr["_kernel"].s = kernel.label.encode()
        yield op, key, node


def first(allowed: AttrValue) -> AttrValue:
    """Return one of the values that a kernel accepts."""
    (field, values), *_ = allowed.list.ListFields()
    return AttrValue(**{field.name: values[0]})


def kernels_of(build: Build):
    for provider, body, bits in atlas().rows("SELECT provider, kernels, builds FROM kernels"):
        if not provider and build.number // 8 < len(bits) and bits[build.number // 8] >> build.number % 8 & 1:
            yield from KernelList.FromString(zlib.decompress(body)).kernel


def read(path: Path) -> dict[Build, Classes]:
    """Read the recorded classes."""
    if not path.exists():
        return {}
    database = sqlite3.connect(path)
    releases = database.execute("SELECT number, package, version FROM release").fetchall()
    rows = database.execute("SELECT op, classes, releases FROM class").fetchall()
    database.close()
    by_build: dict[Build, Classes] = {}
    for number, package, version in releases:
        build = atlas().find(package, version)
        if build is not None:
            by_build[build] = {
                op: json.loads(zlib.decompress(body))
                for op, body, bits in rows
                if int.from_bytes(bits, "little") >> number & 1
            }
    return by_build


def write(path: Path, recorded: dict[Build, Classes]) -> None:
    """Write the classes; what releases share is stored once, with the releases as bits."""
    shared: dict[tuple[str, str], int] = {}
    releases = sorted(recorded, key=lambda build: build.number)
    for number, build in enumerate(releases):
        for op, classes in recorded[build].items():
            key = op, json.dumps(classes, sort_keys=True)
            shared[key] = shared.get(key, 0) | 1 << number
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    database = sqlite3.connect(new)
    database.executescript(SCHEMA)
    rows = [(n, b.package, b.version, b.wheel, b.sha256) for n, b in enumerate(releases)]
    database.executemany("INSERT INTO release VALUES (?, ?, ?, ?, ?)", rows)
    database.executemany(
        "INSERT INTO class VALUES (?, ?, ?)",
        [
            (op, bits.to_bytes((bits.bit_length() + 7) // 8, "little"), zlib.compress(body.encode(), 9))
            for (op, body), bits in sorted(shared.items())
        ],
    )
    database.commit()
    database.execute("VACUUM")
    database.close()
    new.replace(path)


if __name__ == "__main__":
    main()
