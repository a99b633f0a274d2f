"""The models that TensorFlow wrote for the tests, its facts about them, and graphs in our notation."""

from __future__ import annotations

import functools
from pathlib import Path
from textwrap import dedent
from typing import Any

from tests.compact_json import read_json

import tfport
from tfport.atlas.known_ops import known_ops
from tfport.graph.graph import Graph
from tfport.graph.model import Model
from tfport.graph.op_signature import OpTable
from tfport.graph.parse import parse_graph

MODELS = Path(__file__).parent / "models"
EXPECTED: dict[str, Any] = read_json(MODELS / "expected.json.xz")["models"]
NAMES = sorted(EXPECTED)
OPS = OpTable(known_ops())


def of_kind(*kinds: str) -> list[str]:
    """Return the names of the models of these kinds."""
    return [name for name in NAMES if EXPECTED[name]["kind"] in kinds]


PROGRAMS = of_kind("saved_model", "meta_graph", "graph_def")


def path_of(name: str) -> str:
    return str(MODELS / name / EXPECTED[name]["file"]).rstrip("/")


def load(name: str, tags: list[str] | None = None) -> Model:
    """Load a model that the test may change."""
    return tfport.load(path_of(name), tags=tags)


@functools.cache
def shared(name: str) -> Model:
    """Return a shared model that no test changes."""
    return load(name)


def graph(text: str) -> Graph:
    """Parse a graph in our notation."""
    return parse_graph(dedent(text), OPS)
