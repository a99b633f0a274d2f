"""What real releases answered for rewritten stateful models: docs/evidence/stateful.json."""

import json
from pathlib import Path

RECORD = json.loads((Path(__file__).parents[3] / "docs/evidence/stateful.json").read_text())


def test_every_signature_of_stateful_models_is_right_in_old_releases():
    models = RECORD["models"]
    assert len(models) >= 20
    assert RECORD["calls"] == 10
    for name, model in models.items():
        outcomes = {target: entry["outcome"] for target, entry in model["targets"].items()}
        assert outcomes == dict.fromkeys(("1.4.1", "1.12.3", "1.13.2", "1.15.5"), "same"), name
