"""Which file of a model a message misses."""

from __future__ import annotations

from tfport.atlas.target import Target
from tfport.check.explain.lookup import Meaning, MessageMatch

SHARD, INDEX = ".data-", ".index"


def missing_file(said: MessageMatch, target: Target | None) -> Meaning:
    path = said.names["path"]
    if SHARD in path:
        return Meaning(["It is a shard of the checkpoint: some of the model's variables."], code="TFP022")
    if path.endswith(INDEX):
        return Meaning(
            ["It is the index of the checkpoint: no variable can be read without it."], code="TFP021"
        )
    return Meaning()
