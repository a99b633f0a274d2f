"""Take ONNX Runtime for CUDA to a machine with a GPU that reaches no package index.

    python tools/gpu_machine.py pack FOLDER [--python 3.12] [--megabytes 22] [--architecture 90]
    python tools/gpu_machine.py unpack FOLDER TARGET           there, when all parts are
    . TARGET/environment.sh                                    there, before each command

The parts, FOLDER/part0 and so on, can be copied one by one. Kernels for other architectures than that of
the GPU are left out, which are half of the wheel. The machine needs CUDA 13 and cuDNN 9 as Python packages
(`nvidia/*/lib`), which PyTorch installs. The module in TARGET comes before an `onnxruntime` for the CPU that
is there.
"""

import argparse
import hashlib
import json
import lzma
import os
import struct
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PACKAGE, VERSION = "onnxruntime-gpu", "1.31.1"
PLATFORM = "manylinux_2_28_x86_64"
LISTED = "parts.json"
BLOCK = 16 * 2**20
FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 1}]
KERNELS = struct.pack("<IHH", 0xBA55ED50, 1, 16)
"""What a group of CUDA kernels begins with in a library; the size of its entries follows."""
MACHINE_CODE = 2


def pack(folder: Path, python: str, size: int, architecture: int) -> None:
    """Download the wheel, and cut it into parts."""
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "pip", "download", f"{PACKAGE}=={VERSION}", "--no-deps", "-q"]
        command += ["--only-binary=:all:", "--platform", PLATFORM, "--python-version", python, "-d", name]
        subprocess.run(command, check=True)
        (wheel,) = Path(name).glob("*.whl")
        unpacked = Path(name, "unpacked")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
        for library in unpacked.rglob("*.so*"):
            prune(library, architecture)
        folder.mkdir(parents=True)
        listed = write_parts(unpacked, folder, size)
    (folder / LISTED).write_text(json.dumps(listed))
    print(f"{listed['parts']} parts of {wheel.name}")


def prune(library: Path, architecture: int) -> None:
    """Fill the kernels for other architectures with zeros, where the driver does not look for them."""
    content = bytearray(library.read_bytes())
    for start, size in list(other_kernels(content, architecture)):
        content[start : start + size] = bytes(size)
    library.write_bytes(content)


def other_kernels(content: bytearray, architecture: int) -> Iterator[tuple[int, int]]:
    """The place and size of each kernel, in machine code or PTX, that such a GPU does not use."""
    at = content.find(KERNELS)
    while at >= 0:
        (size,) = struct.unpack_from("<Q", content, at + 8)
        entry, end = at + 16, at + 16 + size
        entries = []
        while entry < end <= len(content):
            kind, _, header, stored = struct.unpack_from("<HHIQ", content, entry)
            (built_for,) = struct.unpack_from("<I", content, entry + 28)
            entries.append((kind, built_for, entry + header, stored))
            entry += header + stored
        if any(kind == MACHINE_CODE and built_for == architecture for kind, built_for, *_ in entries):
            for kind, built_for, start, stored in entries:
                if (kind, built_for) != (MACHINE_CODE, architecture):
                    yield start, stored
        at = content.find(KERNELS, max(end, at + 1) if entries else at + 1)


def write_parts(source: Path, folder: Path, size: int) -> dict[str, object]:
    """Compress the files block by block, and fill folders with the blocks."""
    files = sorted(path for path in source.rglob("*") if path.is_file())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        compressed = pool.map(compress, blocks_of(files))
        part, used, number = 0, 0, 0
        for number, block in enumerate(compressed, 1):
            if used and used + len(block) > size:
                part, used = part + 1, 0
            used += len(block)
            place = folder / f"part{part}"
            place.mkdir(exist_ok=True)
            (place / f"{number - 1}").write_bytes(block)
    digest = hashlib.sha256()
    for block in blocks_of(files):
        digest.update(block)
    listed = [[str(path.relative_to(source)), path.stat().st_size] for path in files]
    return {"parts": part + 1, "blocks": number, "sha256": digest.hexdigest(), "files": listed}


def blocks_of(files: list[Path]) -> Iterator[bytes]:
    for path in files:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                yield block


def compress(block: bytes) -> bytes:
    return lzma.compress(block, filters=FILTERS)


def unpack(folder: Path, target: Path) -> None:
    """Join the parts, and write what a shell must set."""
    listed = json.loads((folder / LISTED).read_text())
    blocks = {int(path.name): path for path in folder.glob("part*/*")}
    if missing := sorted(set(range(listed["blocks"])) - blocks.keys()):
        raise SystemExit(f"missing in {folder}: blocks {missing}")
    digest = hashlib.sha256()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        contents = pool.map(lambda number: lzma.decompress(blocks[number].read_bytes()), sorted(blocks))
        for name, size in listed["files"]:
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                while file.tell() < size:
                    block = next(contents)
                    digest.update(block)
                    file.write(block)
    if digest.hexdigest() != listed["sha256"]:
        raise SystemExit(f"the parts in {folder} are not those that were packed")
    libraries = sorted(Path(sysconfig.get_path("purelib")).glob("nvidia/**/lib"))
    (target / "environment.sh").write_text(
        f'export PYTHONPATH="{target.resolve()}:$PYTHONPATH"\n'
        f'export LD_LIBRARY_PATH="{":".join(map(str, libraries))}:$LD_LIBRARY_PATH"\n'
    )
    print(f". {target / 'environment.sh'}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Take libraries for a GPU to another machine.")
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("folder", type=Path)
    packing.add_argument("--python", default="3.12")
    packing.add_argument("--megabytes", type=int, default=22)
    packing.add_argument("--architecture", type=int, default=90, help="of the GPU: 90 for Hopper")
    unpacking = commands.add_parser("unpack")
    unpacking.add_argument("folder", type=Path)
    unpacking.add_argument("target", type=Path)
    args = parser.parse_args()
    if args.command == "pack":
        pack(args.folder, args.python, args.megabytes * 10**6, args.architecture)
    else:
        unpack(args.folder, args.target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
