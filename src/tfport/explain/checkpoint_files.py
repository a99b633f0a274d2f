"""Look up which file of a checkpoint a message reports as missing."""

from __future__ import annotations

from tfport.atlas.target import Target
from tfport.explain.lookup import Meaning, MessageMatch

SHARD, INDEX = ".data-", ".index"


def missing_file(match: MessageMatch, target: Target | None) -> Meaning:
    """Whether the file is a shard or the index of a checkpoint."""
    path = match.names["path"]
    if SHARD in path:
        return Meaning(
            ["It is a shard of the checkpoint, with some of the model's variables."], code="TFP022"
        )
    if path.endswith(INDEX):
        return Meaning(
            ["It is the index of the checkpoint; without it no variable can be read."], code="TFP021"
        )
    return Meaning()
