"""What real releases of Keras did with rewritten files: a record of tools/truth/keras_rewrites/run.py.

The models of the "first set" came from an earlier form of `models.py` beside it.
"""

import json
from pathlib import Path

RECORD = json.loads(Path(__file__).with_name("real_rewrites.json").read_text())


def test_no_rewritten_file_was_refused_or_answered_wrongly_by_a_release():
    for release, sources in RECORD.items():
        for source, outcomes in sources.items():
            for case, outcome in outcomes.items():
                assert outcome == "right", f"{case} of {source} in {release}: {outcome}"


def test_every_minor_release_of_keras_3_was_asked():
    minors = {name.rpartition("-")[2].rpartition(".")[0] for name in RECORD if name.startswith("keras-3")}
    assert minors == {f"3.{number}" for number in range(16)}
    assert all(sum(map(len, sources.values())) >= 40 for name, sources in RECORD.items() if "keras-3" in name)
