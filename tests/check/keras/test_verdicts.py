"""The verdicts of `check` on Keras files are those of real releases (`tools/truth/keras_verdicts.py`).

`real_verdicts.json.xz` has files that real releases saved, as configurations without weights, and what real
releases did with each. `unknown` is right where the environment decides: it is never a wrong `runs`.
`other_verdicts.json` lists the pairs that `check` gets wrong, by the reason; a pair that it gets right must
leave the list.
"""

import json
import lzma
from pathlib import Path

import pytest
from tests.check.keras.test_load import release_of

from tfport.check.check import verdict_of
from tfport.check.findings.keras_files import KerasLambdaPython, KerasTensorFlowLayer
from tfport.check.keras.check_keras_file import findings_in
from tfport.check.keras.environment import KerasEnvironment
from tfport.formats.keras.records import BY_LAYER, KerasFile, StoredWeight, StoredWeights
from tfport.formats.keras.unsafe import unsafe_config

RECORD = json.loads(lzma.decompress(Path(__file__).with_name("real_verdicts.json.xz").read_bytes()))
REASONS = json.loads(Path(__file__).with_name("other_verdicts.json").read_text())
KNOWN = {(file, name) for files in REASONS.values() for file, names in files.items() for name in names}
NAMES = sorted({name for case in RECORD.values() for name in case["verdicts"]})
PYTHONS = {"1.15.5": "3.7", "2.4.4": "3.8", "2.10.1": "3.10"}
"""The Python of the environments that do not have 3.11."""
DEPENDS = (KerasLambdaPython.code, KerasTensorFlowLayer.code)
"""What the environment decides."""


def stored_weights(file):
    """The names and shapes of the weights; None where they were not recorded."""
    lists = {
        layer: [StoredWeight(weight, "float32", tuple(shape), lambda: None) for weight, shape in weights]
        for layer, weights in file.get("weights", {}).items()
    }
    return StoredWeights(BY_LAYER, lists) if lists else None


def judged(name, file, where):
    """Whether `check` says what happened, and what it says."""
    package, _, without = where.partition("+")
    python = PYTHONS.get(package.rpartition("-")[2], "3.11")
    environment = KerasEnvironment(has_tensorflow=not without, has_gpu=False, pythons=(python,))
    unsafe = unsafe_config(file["config"])
    config = KerasFile(
        name, file["layout"], file["config"], stored_weights(file), file["keras_version"], unsafe=unsafe
    )
    findings = list(findings_in(config, release_of(package), environment))
    verdict, stage = verdict_of(findings)
    happened = file["verdicts"][where][0]
    is_open = verdict == "unknown" and any(f.code in DEPENDS for f in findings)
    return is_open or (stage or verdict) == happened, (verdict, stage, file["verdicts"][where])


@pytest.mark.parametrize("where", NAMES)
def test_a_verdict_is_that_of_the_real_release(where):
    for name, file in RECORD.items():
        if where in file["verdicts"]:
            is_right, said = judged(name, file, where)
            assert is_right == ((name, where) not in KNOWN), (name, said)


def test_the_record_has_many_pairs_and_few_wrong_ones():
    pairs = sum(len(file["verdicts"]) for file in RECORD.values())
    assert pairs >= 1000
    assert len(KNOWN) <= 0.005 * pairs
