"""Small stores for the tests of audits."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.recorded_models import path_of

OLD, NEW = "tensorflow==2.4.4", "tensorflow==2.15.1"


def small_store(root: Path) -> Path:
    """Two versions of one model, a GraphDef, a MetaGraph, an empty file, and files that are no models."""
    store = root / "store"
    for version, model in (("1", "half_plus_two"), ("2", "half_plus_three")):
        shutil.copytree(path_of(model), store / "team_a/half" / version)
    (store / "team_b/graphs").mkdir(parents=True)
    shutil.copy(path_of("loops"), store / "team_b/graphs/loops.pb")
    shutil.copy(path_of("frozen"), store / "team_b/graphs/frozen.pb")
    (store / "team_b/empty").mkdir()
    (store / "team_b/empty/saved_model.pb").touch()
    (store / "team_b/README.md").write_text("No model.")
    (store / "team_b/notes").mkdir()
    (store / "team_b/notes/notes.json").write_text('{"no": "model"}')
    return store
