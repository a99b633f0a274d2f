"""Record which ops XLA compiles: the kernels of releases for the devices XLA_CPU_JIT and XLA_GPU_JIT.

    python tools/atlas/jit_kernels.py 2.16.2 2.21.0                         wheels for this machine
    python tools/atlas/jit_kernels.py --package tensorflow-cpu-aws 2.15.1   the wheels up to 2.15 for ARM64
    python tools/atlas/jit_kernels.py --kernels FILE 2.21.0                 what `jit_kernels_probe` wrote

A release registers them when XLA compiles something for the first time, so each runs a small model. Adds
the release to src/tfport/check/compiled/jit_kernels.json.xz, beside those that are there.
"""

import argparse
import json
import lzma
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.truth_models import model_folder
from wheels import unpacked

from tfport.formats.proto.kernel_pb2 import KernelDef, KernelList
from tfport.graph.dtypes import DType

ROOT = Path(__file__).parents[2]
OUTPUT = ROOT / "src/tfport/check/compiled/jit_kernels.json.xz"
MODEL = "tests/truth/models/must_compile"
PROBE = Path(__file__).with_name("jit_kernels_probe.py")
DEVICES = ("XLA_CPU_JIT", "XLA_GPU_JIT")


def main() -> None:
    args = arguments()
    record = json.loads(lzma.decompress(OUTPUT.read_bytes())) if OUTPUT.exists() else {}
    releases, known = record.get("releases", {}), [tuple(row) for row in record.get("kernels", ())]
    by_row = {json.dumps(row): row for row in known}
    lists = {
        (release, device): [by_row[json.dumps(known[number])] for number in numbers]
        for release, by_device in releases.items()
        for device, numbers in by_device.items()
    }
    for release in args.releases:
        kernels = KernelList.FromString(args.kernels.read_bytes() if args.kernels else probe(args, release))
        for device in DEVICES:
            if rows := [row(kernel) for kernel in kernels.kernel if kernel.device_type == device]:
                lists[release, device] = rows
                print(f"{release} {device}: {len(rows)} kernels", flush=True)
    write(lists)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--package", default="tensorflow")
    parser.add_argument("--kernels", type=Path)
    return parser.parse_args()


def probe(args: argparse.Namespace, release: str) -> bytes:
    with (
        unpacked(args.package, release, platform.machine()) as wheel,
        tempfile.NamedTemporaryFile() as out,
    ):
        command = [sys.executable, PROBE, wheel.package, model_folder(MODEL), out.name]
        subprocess.run(command, check=True, stderr=-3)
        return Path(out.name).read_bytes()


def row(kernel: KernelDef) -> tuple:
    """Return the op, and the types of each attribute that the kernel restricts."""
    types = {c.name: [str(DType.of(t)) for t in c.allowed_values.list.type] for c in kernel.constraint}
    return kernel.op, types


def write(lists: dict[tuple[str, str], list[tuple]]) -> None:
    """Write each kernel once, and its number in every release."""
    texts = sorted({json.dumps(kernel) for rows in lists.values() for kernel in rows})
    numbers = {text: number for number, text in enumerate(texts)}
    releases: dict[str, dict[str, list[int]]] = {}
    for (release, device), rows in sorted(lists.items()):
        releases.setdefault(release, {})[device] = sorted(numbers[json.dumps(kernel)] for kernel in rows)
    record = {"kernels": [json.loads(text) for text in texts], "releases": releases}
    OUTPUT.write_bytes(lzma.compress(json.dumps(record, separators=(",", ":")).encode(), preset=9))


if __name__ == "__main__":
    main()
