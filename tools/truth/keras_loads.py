"""Record what real releases of Keras do with Keras files, for the tests of the simulated loaders.

    python tools/truth/keras_loads.py ENVIRONMENTS FILE…

ENVIRONMENTS is a folder of Python environments named after their Keras (`keras-3.15.1`, `tf-keras-2.16.0`,
`keras-core-0.1.7`) or TensorFlow (`tensorflow-2.4.4`). Each loads every file with
`load_model(path, compile=False)`. The configurations and the outcomes are written to
tests/check/keras/real_loads.json.xz; weights are not. Give only files that may be published: models of your
own. Take them at random and leave none out for its outcome: what the simulated loaders get wrong is listed in
known_differences.json beside the record.
"""

import argparse
import json
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

from tfport.formats.find import find_model
from tfport.formats.keras.read import read_keras

OUTPUT = Path("tests/check/keras/real_loads.json.xz")
LOADER = """
import json, os, signal, sys, warnings
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
warnings.filterwarnings("ignore")
name, paths, out = sys.argv[1], json.load(open(sys.argv[2])), sys.argv[3]
if name.startswith("tensorflow"):
    import tensorflow
    load_model = tensorflow.keras.models.load_model
else:
    import importlib
    load_model = importlib.import_module(name.rpartition("-")[0].replace("-", "_")).models.load_model
class Late(Exception): pass
def late(*_): raise Late()
signal.signal(signal.SIGALRM, late)
outcomes = []
for path in paths:
    signal.alarm(120)
    try:
        try:
            load_model(path, compile=False)
        except TypeError as error:
            if "keyword argument 'compile'" not in str(error):
                raise
            load_model(path)
        outcomes.append(None)
    except Late:
        outcomes.append(["Late", ""])
    except Exception as error:
        outcomes.append([type(error).__name__, str(error)])
    signal.alarm(0)
json.dump(outcomes, open(out, "w"))
"""


def loads(environment: Path, files: list[str]) -> list[list[str] | None]:
    """The error of each file in an environment, or None if it loads."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "loader.py").write_text(LOADER)
        (folder / "paths.json").write_text(json.dumps(files))
        command = [environment / "bin/python", folder / "loader.py", environment.name]
        subprocess.run([*command, folder / "paths.json", folder / "outcomes.json"], check=True)
        outcomes: list[list[str] | None] = json.loads((folder / "outcomes.json").read_text())
    return outcomes


def stored(path: str) -> dict[str, object]:
    """What the simulated loaders need of a file."""
    location = find_model(path)
    file = read_keras(location.files, location.name)
    return {"layout": file.layout, "keras_version": file.keras_version, "config": file.config}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("environments", type=Path)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    environments = sorted(path for path in arguments.environments.iterdir() if (path / "bin/python").exists())
    outcomes = {}
    for environment in environments:
        outcomes[environment.name] = loads(environment, arguments.files)
        print(environment.name, outcomes[environment.name].count(None), "load", file=sys.stderr)
    record = [
        {
            "name": Path(path).name,
            **stored(path),
            "outcomes": {name: of_all[number] for name, of_all in outcomes.items()},
        }
        for number, path in enumerate(arguments.files)
    ]
    text = json.dumps(record, separators=(",", ":")).replace(str(Path(arguments.files[0]).parent), "FOLDER")
    OUTPUT.write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    main()
