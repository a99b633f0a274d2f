"""Record releases again and compare them with the atlas: the same wheels must give the same records.

python tools/atlas/verify.py 1.13.2 2.21.0
make atlas-verify
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from atlas_file import AtlasContent
from records import exported_symbols, recorded_registry
from symbols_file import SymbolContent, name_of

COLLECT = Path(__file__).with_name("collect.py")


def main(releases: list[str]) -> int:
    content, symbols = AtlasContent.read(), SymbolContent.read()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, COLLECT, "--again", "--cache", folder, *releases], check=True)
        different = [compare(Path(folder, f"tensorflow-{r}"), content, symbols) for r in releases]
    return 1 if any(different) else 0


def compare(folder: Path, content: AtlasContent, symbols: SymbolContent) -> int:
    """Print and return how many rows of a new record differ from the stored ones."""
    number = content.find(folder.name)
    assert number is not None, f"{folder.name} is not in the atlas"
    new, stored = recorded_registry(folder), content.registry(number)
    exported = exported_symbols(folder)
    stored_symbols = symbols.exported(symbols.names.index(name_of(content.builds[number])))
    counts = {
        "ops": (len(new.ops), len(new.ops ^ stored.ops)),
        "kernel sets": (len(new.kernels), len(new.kernels ^ stored.kernels)),
        "symbols": (len(exported), len(exported ^ stored_symbols)),
    }
    print(f"{folder.name}: " + ", ".join(f"{n} {what} ({d} differ)" for what, (n, d) in counts.items()))
    return sum(differ for _, differ in counts.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
