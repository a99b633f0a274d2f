"""Load rewritten Keras files in real releases of Keras, and record what happened.

    python tools/truth/keras_rewrites/run.py ENVIRONMENTS SOURCE…

ENVIRONMENTS is a folder of Python environments named after their Keras (`keras-3.15.1` with JAX,
`tf-keras-2.18.0` with TensorFlow) or TensorFlow (`tensorflow-2.15.1`). A SOURCE is a folder that `models.py`
filled, named after the release that did. Each file is rewritten for the release of each environment and run
there by `load.py`: with the backend NumPy, and with JAX where that fails or differs (masked recurrent layers
of the NumPy backend differ in some releases). The outcomes are written to tests/fix/keras/real_rewrites.json;
records of other pairs stay.
"""

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.errors import Error
from tfport.fix.fix_to import fix_to
from tfport.fix.options import FixOptions

OUTPUT = Path("tests/fix/keras/real_rewrites.json")
LOAD = Path(__file__).with_name("load.py")
CLOSE = 1e-4
RIGHT = "right"
Outcomes = dict[str, str]
"""By case: `right`, `wrong …`, `refused: …` by tfport, or the error of the release."""


def outcomes(environment: Path, source: Path) -> Outcomes:
    package, _, version = environment.name.rpartition("-")
    (target,) = resolve_targets(f"{package}=={version}")
    found: Outcomes = {}
    with tempfile.TemporaryDirectory() as name:
        written: dict[Path, Path] = {}
        for answers in sorted(source.glob("*.npz")):
            original = answers.with_suffix("")
            suffix = ".keras" if package == "keras" and version.startswith("3") else ".h5"
            path = Path(name, f"{original.stem}{suffix}")
            try:
                fixed = fix_to(tfport.load(str(original)), target, str(path), FixOptions())
                if not fixed.ok:
                    found[original.stem] = f"refused: {'; '.join(fixed.remaining) or fixed.failure}"
                    continue
                fixed.save(path)
                written[path] = answers
            except Error as error:
                found[original.stem] = f"refused: {error}"
        for backend in ("numpy", "jax") if suffix == ".keras" else ("tensorflow",):
            answered = loaded(environment, written, backend, Path(name, "outcomes.json"))
            found |= {path.stem: outcome for path, outcome in answered.items()}
            written = {path: written[path] for path, outcome in answered.items() if outcome != RIGHT}
    return found


def loaded(environment: Path, files: dict[Path, Path], backend: str, out: Path) -> dict[Path, str]:
    pairs = [str(path) for pair in files.items() for path in pair]
    if not pairs:
        return {}
    out.unlink(missing_ok=True)
    command = [environment / "bin/python", LOAD, out, *pairs]
    variables = {"KERAS_BACKEND": backend, "PYTHONPATH": ""}
    if environment.name.startswith("tf-keras"):
        variables["TF_USE_LEGACY_KERAS"] = "1"
    subprocess.run(command, env={**os.environ, **variables}, check=False)
    if not out.exists():
        return dict.fromkeys(files, f"the backend {backend} cannot be imported")
    values = json.loads(out.read_text())
    return {path: judged(values[str(path)]) for path in files}


def judged(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return RIGHT if value < CLOSE else f"wrong by {value:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("environments", type=Path)
    parser.add_argument("sources", nargs="+", type=Path)
    arguments = parser.parse_args()
    record = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    for environment in sorted(arguments.environments.iterdir()):
        for source in arguments.sources:
            found = outcomes(environment, source)
            record.setdefault(environment.name, {})[source.name] = found
            print(environment.name, source.name, list(found.values()).count(RIGHT), "right of", len(found))
            OUTPUT.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
