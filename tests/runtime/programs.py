"""Sessions of graphs in the node notation."""

from __future__ import annotations

from typing import Any

from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def


def session_of(text: str, **options: Any) -> tfport.Session:
    """A session of the graph in this text."""
    return tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()), **options)
