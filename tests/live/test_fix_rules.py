"""Every case of every rule in TensorFlow itself: equal outputs, in every bit for exact rules."""

from __future__ import annotations

import importlib
import os
import platform
from dataclasses import replace
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import pytest
import tensorflow as tf
from tests.fix.rule_cases import RuleCase, answers, assert_alike, case_modules, rewritten
from tests.live.record_ops import plain

from tfport.graph.build import graph_to_def
from tfport.graph.model import Model

FUSED = {"projected_by_gather": 3e-5, "sampled_by_gather": 1e-3} if platform.machine() == "aarch64" else {}
"""Rules for kernels whose products and sums a compiler fuses there, and the tolerance."""
CASES = [
    pytest.param(c, id=f"{module}-{c}-{place}")
    for module in case_modules()
    for place, c in enumerate(getattr(importlib.import_module(module), "CASES", ()))
]


def run(model: Model, c: RuleCase) -> list[Any]:
    theirs = tf.compat.v1.GraphDef.FromString(graph_to_def(model.graph).SerializeToString())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(theirs, name="")
        # TensorFlow's optimizer would rewrite both graphs before they are compared
        off = tf.compat.v1.ConfigProto()
        off.graph_options.rewrite_options.disable_meta_optimizer = True
        off.graph_options.optimizer_options.opt_level = tf.compat.v1.OptimizerOptions.L0
        with tf.compat.v1.Session(graph=graph, config=off) as session:
            return [plain(a) for a in session.run(c.fetches, c.fed)]


@pytest.mark.parametrize("c", CASES)
def test_tensorflow_gives_the_same_answers(c):
    before = run(c.model(), c) if c.answers == "tensorflow" else answers(c.model(), c)
    after = run(rewritten(c), c)
    exact = c.answers == "tensorflow" and c.rule.name not in FUSED
    c = replace(c, atol=FUSED.get(c.rule.name, c.atol))
    for ours, theirs in zip(after, before, strict=True):
        assert_alike(ours, theirs, c, exact=exact)
