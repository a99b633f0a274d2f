"""Take ONNX Runtime for CUDA to a machine with a GPU that reaches no package index.

    python tools/gpu_machine.py pack FOLDER [--python 3.12] [--megabytes 26]     here: parts of the wheel
    python tools/gpu_machine.py unpack FOLDER TARGET                             there, when all parts are
    . TARGET/environment.sh                                                      there, before each command

The parts can be copied one by one. The machine needs CUDA 13 and cuDNN 9 as Python packages (`nvidia/*/lib`),
which PyTorch installs. The module in TARGET comes before an `onnxruntime` for the CPU that is there.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

PACKAGE, VERSION = "onnxruntime-gpu", "1.31.1"
PLATFORM = "manylinux_2_28_x86_64"
LISTED = "parts.json"


def pack(folder: Path, python: str, megabytes: int) -> None:
    """Download the wheel and cut it into parts."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "pip", "download", f"{PACKAGE}=={VERSION}", "--no-deps", "-q"]
        command += ["--only-binary=:all:", "--platform", PLATFORM, "--python-version", python, "-d", name]
        subprocess.run(command, check=True)
        (wheel,) = Path(name).glob("*.whl")
        cut(wheel, folder, megabytes * 2**20)


def cut(wheel: Path, folder: Path, size: int) -> None:
    content = wheel.read_bytes()
    parts = [content[at : at + size] for at in range(0, len(content), size)]
    for number, part in enumerate(parts):
        (folder / f"part{number}").write_bytes(part)
    listed = {"wheel": wheel.name, "parts": len(parts), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / LISTED).write_text(json.dumps(listed))
    print(f"{len(parts)} parts of {wheel.name}")


def unpack(folder: Path, target: Path) -> None:
    """Join the parts, unpack the wheel, and write what a shell must set."""
    listed = json.loads((folder / LISTED).read_text())
    names = [folder / f"part{number}" for number in range(listed["parts"])]
    missing = [path.name for path in names if not path.exists()]
    if missing:
        raise SystemExit(f"missing in {folder}: {', '.join(missing)}")
    content = b"".join(path.read_bytes() for path in names)
    if hashlib.sha256(content).hexdigest() != listed["sha256"]:
        raise SystemExit(f"the parts in {folder} are not those of {listed['wheel']}")
    target.mkdir(parents=True, exist_ok=True)
    wheel = target / listed["wheel"]
    wheel.write_bytes(content)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    wheel.unlink()
    libraries = sorted(Path(sysconfig.get_path("purelib")).glob("nvidia/**/lib"))
    (target / "environment.sh").write_text(
        f'export PYTHONPATH="{target.resolve()}:$PYTHONPATH"\n'
        f'export LD_LIBRARY_PATH="{":".join(map(str, libraries))}:$LD_LIBRARY_PATH"\n'
    )
    print(f". {target / 'environment.sh'}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Take ONNX Runtime for CUDA to another machine.")
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("folder", type=Path)
    packing.add_argument("--python", default="3.12")
    packing.add_argument("--megabytes", type=int, default=26)
    unpacking = commands.add_parser("unpack")
    unpacking.add_argument("folder", type=Path)
    unpacking.add_argument("target", type=Path)
    args = parser.parse_args()
    if args.command == "pack":
        pack(args.folder, args.python, args.megabytes)
    else:
        unpack(args.folder, args.target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
