"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.engines.litert.island_node import IslandNode, IslandValue, NotInLite
from tfport.runtime.engines.litert.lite_scribe import LiteScribe

OPS = ("GRU", "LSTM", "RNN")


def recurrent(_out: LiteScribe, node: IslandNode) -> Sequence[IslandValue]:
    raise NotInLite(f"{node.op} has no translation")
