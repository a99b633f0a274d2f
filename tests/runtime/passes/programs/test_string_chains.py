"""Ops that change strings one after another become one step, with the same outputs."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.programs import session_of

from tfport.errors import RunFailed
from tfport.runtime.ops.strings.byte_strings import LOWER, UPPER, replaced_bytes
from tfport.runtime.passes.programs.string_chains import string_chains

TEXTS = [
    b"",
    b" Tab\there,  (really)? ",
    b"It's 'quoted' 'text'",
    bytes(range(256)),
    "Ünï codé - 100%".encode(),
]


def replace(pattern, rewrite, *, everywhere=True):
    texts = f"pattern={json.dumps(pattern)}, rewrite={json.dumps(rewrite)}"
    return f"StaticRegexReplace(%s) {{{texts}, replace_global={str(everywhere).lower()}}}"


CHANGES = [
    'StringLower(%s) {encoding=""}',
    replace(" '|' |^'|'$", " "),
    replace("\\(", ""),
    replace("[\\)?,]", " "),
    replace("[^a-z\\s]", "-"),
    replace("--", ""),
    replace("t", "T", everywhere=False),
    "StringStrip(%s)",
    'StringUpper(%s) {encoding="utf-8"}',
]


def chain(changes):
    lines = ["x0 = Placeholder() {dtype=string, shape=(?)}"]
    lines += [f"x{i + 1} = {change % f'x{i}'}" for i, change in enumerate(changes)]
    return session_of("\n".join(lines))


def steps_of(session, fetches):
    program = session.program(fetches, ["x0:0"])
    string_chains(program, session.engine)
    return program.steps


@pytest.mark.parametrize("end", range(1, len(CHANGES) + 1))
def test_a_chain_is_one_step_with_the_outputs_of_its_ops(end):
    session, feed = chain(CHANGES[:end]), np.array(TEXTS, object)
    assert len(steps_of(session, [f"x{end}:0"])) == 1
    one_by_one = feed
    for change in CHANGES[:end]:
        one_by_one = chain([change]).run("x1:0", {"x0:0": one_by_one})
    assert session.run(f"x{end}:0", {"x0:0": feed}).tolist() == one_by_one.tolist()


def test_a_string_that_something_else_reads_ends_a_chain():
    session, feed = chain(CHANGES), np.array(TEXTS, object)
    fetches = ["x3:0", f"x{len(CHANGES)}:0"]
    assert [step.name for step in steps_of(session, fetches)] == ["x3", f"x{len(CHANGES)}"]
    middle, last = session.run(fetches, {"x0:0": feed})
    assert middle.tolist() == chain(CHANGES[:3]).run("x3:0", {"x0:0": feed}).tolist()
    assert last.tolist() == session.run(fetches[1], {"x0:0": feed}).tolist()


def test_an_invalid_pattern_in_a_chain_is_named():
    session = chain([CHANGES[0], replace("[", ""), CHANGES[0]])
    with pytest.raises(RunFailed, match=r"`x2`.*invalid regular expression"):
        session.run("x3:0", {"x0:0": TEXTS})


REPLACED = st.lists(st.tuples(st.binary(min_size=1, max_size=4), st.binary(max_size=1)), max_size=5)


@given(st.binary(max_size=20), REPLACED)
def test_changes_by_bytes_in_sequence_are_one_change(text, replaced):
    changes = [LOWER, *(replaced_bytes(old, new) for old, new in replaced), UPPER]
    joined, expected = changes[0], changes[0](text)
    for change in changes[1:]:
        joined, expected = joined.then(change), change(expected)
    assert joined(text) == expected
