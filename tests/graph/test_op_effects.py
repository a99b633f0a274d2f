"""The table of op effects: complete, in the words of the vocabulary, and with arguments that the ops have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfport.atlas.known_ops import known_ops
from tfport.graph.op_effects import EFFECTS, effects_of, op_effects

WITHOUT_EFFECTS = Path(__file__).with_name("ops_without_effects.txt")


def test_every_recorded_op_is_decided_once():
    without = WITHOUT_EFFECTS.read_text().split()
    assert sorted(without) == without
    assert not set(without) & set(op_effects())
    undecided = set(known_ops()) - set(without) - set(op_effects())
    assert not undecided, "add them to op_effects.toml, or to ops_without_effects.txt if they only compute"
    assert not set(without) | set(op_effects()) > set(known_ops()), "no recorded release has these ops"


def test_effects_are_in_the_vocabulary():
    for op, effect in op_effects().items():
        assert effect.does, op
        assert set(effect.does) <= set(EFFECTS), op
        assert effect.source, op
    used = {does for effect in op_effects().values() for does in effect.does}
    assert used == set(EFFECTS)


def test_arguments_are_those_of_the_op():
    for op, effect in op_effects().items():
        definition = known_ops()[op]
        arguments = {a.name for a in definition.input_arg} | {a.name for a in definition.attr}
        named = {*effect.path, *effect.through, *effect.code, *effect.size, *effect.seeds}
        assert named <= arguments, op


def test_unless_and_seeds_belong_to_something():
    for op, effect in op_effects().items():
        assert bool(effect.path) >= bool(effect.unless), op
        assert "reads clock or host randomness" in effect.does or not effect.seeds, op
        assert {"unbounded memory", "unbounded time"} & set(effect.does) or not effect.size, op
        assert {"python", "loads code"} & set(effect.does) or not effect.code, op


@pytest.mark.parametrize(
    ("op", "does", "path"),
    [
        ("ReadFile", ("reads files",), ("filename",)),
        ("MergeV2Checkpoints", ("reads files", "writes files", "deletes files"),
         ("checkpoint_prefixes", "destination_prefix")),
        ("IO>ReadText", ("reads files",), ("filename",)),
        ("SimpleMLLoadModelFromPathWithHandle", ("reads files", "lists files"), ("path",)),
    ],
)  # fmt: skip
def test_a_row_says_what_and_where(op, does, path):
    effect = effects_of(op)
    assert (effect.does, effect.path) == (does, path)


def test_ops_that_only_compute_have_no_row():
    assert effects_of("MatMul") is None
    assert effects_of("Acme>Unknown") is None


def test_paths_that_do_nothing():
    printed, proto = effects_of("PrintV2"), effects_of("DecodeProtoV2")
    assert printed.is_harmless_path("stderr")
    assert not printed.is_harmless_path("file:///tmp/x")
    assert proto.is_harmless_path("bytes://abc")
    assert not proto.is_harmless_path("/etc/passwd")
