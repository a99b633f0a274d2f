"""Record releases anew and compare with the atlas: the same wheels must give the same records, bit for bit.

python tools/atlas/prove.py 1.13.2 2.21.0
make atlas-proof
"""

import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from build import Shared, add

from tfport.atlas.atlas import atlas, has_bit

COLLECT = Path(__file__).with_name("collect.py")


def main(releases: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, COLLECT, "--cache", folder, *releases], check=True)
        found = [differences(release, Path(folder, f"tensorflow-{release}")) for release in releases]
    for release, (count, wrong) in zip(releases, found, strict=True):
        print(f"tensorflow {release}: {count} records, {wrong or 'none'} different")
    return 1 if any(wrong for _, wrong in found) else 0


def differences(release: str, folder: Path) -> tuple[int, int]:
    """How many records a release has, and how many of them are not as the atlas has them."""
    ops: Shared = {}
    kernels: Shared = {}
    add(folder, 1, ops, kernels)
    anew = {("op", *key) for key in ops} | {("kernels", *key) for key in kernels}
    stored = set(recorded(release))
    return len(anew), len(anew ^ stored)


def recorded(release: str):
    build = atlas().find("tensorflow", release)
    for name, provider, body, bits in atlas().rows("SELECT name, provider, definition, builds FROM op"):
        if has_bit(bits, build.number):
            yield "op", name, provider, body
    for op, provider, body, bits in atlas().rows("SELECT op, provider, kernels, builds FROM kernels"):
        if has_bit(bits, build.number):
            yield "kernels", op, provider, zlib.decompress(body)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
