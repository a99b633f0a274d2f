"""Run rewritten models in the real binary of each release of TensorFlow: docs/evidence/releases.json.

    python tools/truth/rewrites/every_release.py [RELEASE…]     default: the newest of each minor release

A few models (a batched product, a counter with an asset, a recurrent layer with state) are rewritten for the
release and called ten times through the C API. `tfport.fix.tried_releases` lists the releases in which all
were right; a certificate for another says that it was not tried. Records of other releases stay.
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path += [str(Path(__file__).parents[2] / folder) for folder in ("truth", "atlas")]

from cases import LIVE, ROOT, make
from judge import CANNOT, Outcome
from release import unpacked_release
from rewrite import rewrite
from two_loaders import Release, by_c_api, expected_answers, generated_calls

import tfport
from tfport.errors import Error

OUT = ROOT / "docs/evidence/releases.json"
MADE = ("counter_with_asset", "recurrent_state")
TODAY = "2.21.0"
RELEASES = """
1.4.1 1.5.0 1.6.0 1.7.1 1.8.0 1.9.0 1.10.1 1.11.0 1.12.3 1.13.2 1.14.0 1.15.5 2.0.4 2.1.4 2.2.3 2.3.4 2.4.4
2.5.3 2.6.5 2.7.4 2.8.4 2.9.3 2.10.1 2.11.1 2.12.1 2.13.1 2.14.1 2.15.1 2.16.2 2.17.1 2.18.1 2.19.1 2.20.0
2.21.0
"""


def main() -> None:
    paths = {"attention": ROOT / "examples/attention", **make(list(MADE))}
    models = {name: tfport.load(str(path)) for name, path in paths.items()}
    calls = {name: generated_calls(model) for name, model in models.items()}
    today = Release(TODAY, LIVE / "bin/python")
    expected = {name: expected_answers(paths[name], models[name], calls[name], today) for name in paths}
    for release in sys.argv[1:] or RELEASES.split():
        outcomes = {}
        with unpacked_release(release) as binary, tempfile.TemporaryDirectory() as folder:
            for name, path in paths.items():
                try:
                    new = rewrite(path, f"tensorflow=={release}", (), Path(folder, name), ()).path
                except Error as error:
                    outcomes[name] = Outcome(CANNOT, str(error))
                    continue
                outcomes[name] = by_c_api(models[name], new, calls[name], expected[name], binary)
        record(release, {name: [o.outcome, o.says] for name, o in outcomes.items()})
        print(release, {name: (o.outcome, o.says[:200]) for name, o in outcomes.items()}, flush=True)


def record(release: str, outcomes: dict[str, list[str]]) -> None:
    recorded = json.loads(OUT.read_text()) if OUT.exists() else {}
    recorded.setdefault("tensorflow", {})[release] = outcomes
    OUT.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main())
