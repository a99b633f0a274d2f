"""Tables as constants: outputs stay the same, initializers become NoOp, and mutable tables are refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.structure.table_programs import (
    AS_CONSTANTS,
    BACKWARDS,
    CONSTANT,
    FIND,
    HEAD,
    KINDS,
    PROGRAMS,
    Program,
)
from tests.fix.structure.test_tables import answers, assert_equal
from tests.recorded_models import graph

from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.structure.constant_tables import MOST_KEYS, tables_to_constants
from tfport.fix.structure.tables import TableRefusal, tables_to_v1

CHECKER = NodeChecker(resolve_targets("tensorflow==1.4.1")[0], 24)


def without_tables(made):
    return tables_to_constants(made, Facts(), CHECKER)


@pytest.mark.parametrize("before", [lambda made: None, tables_to_v1], ids=["resources", "references"])
@pytest.mark.parametrize("name", AS_CONSTANTS)
def test_comparisons_answer_as_tables_do(name, before):
    program = PROGRAMS[name]
    made = graph(program.text)
    before(made)
    changed = without_tables(made)
    assert {"t", "init", "y" if "y" in dict(changed) else "found"} <= {name for name, _ in changed}
    assert not [node.op for node in made if "Table" in node.op]
    assert not [(node, problem) for node in made for problem in CHECKER.unresolved(node)]
    assert_equal(answers(made, program), answers(graph(program.text), program))


def test_the_initializer_stays_and_does_nothing():
    made = graph(BACKWARDS)
    without_tables(made)
    assert (made["init"].op, made["init"].inputs) == ("NoOp", ())
    assert "t" not in made
    assert "same" not in made
    assert made["y"].attrs.get("_class", []) == []


def test_an_import_into_such_a_table_fills_it_too():
    text = (
        CONSTANT.replace("InitializeTableV2", "LookupTableImportV2")
        .replace("Tkey", "Tin")
        .replace("Tval", "Tout")
    )
    program = PROGRAMS["constant"]
    made = graph(text)
    without_tables(made)
    assert_equal(answers(made, program), answers(graph(program.text), program))


def many(count):
    words = ", ".join(f'"{i}"' for i in range(count))
    return (CONSTANT.replace('string(3)["a", "b", "c"]', f"string({count})[{words}]")
            .replace("int64(3)[10, 20, 30]",
                 f"int64({count})[{', '.join(map(str, range(count)))}]"))  # fmt: skip


REFUSED = {
    "mutable": (PROGRAMS["mutable"].text, "`t` is a MutableHashTableV2, whose entries may change"),
    "never filled": (CONSTANT.replace("init = InitializeTableV2(t, keys, values)", "init = NoOp()")
                     .replace("{Tkey=string, Tval=int64}", ""), "`t` is filled by 0 nodes; expected one"),
    "fed": (CONSTANT.replace('keys = Const() {dtype=string, value=string(3)["a", "b", "c"]}',
                             "keys = Placeholder() {dtype=string}"), "from values that are not constant"),
    "two values": (CONSTANT.replace('"c"', '"a"'), "`t` has two values for the key b'a'"),
    "too many": (many(MOST_KEYS + 1), f"`t` has {MOST_KEYS + 1} keys; expected 1 to {MOST_KEYS}"),
    "exported": (CONSTANT + "e = LookupTableExportV2(t) {Tkeys=string, Tvalues=int64}",
                 "`e` (LookupTableExportV2) does more than look up `t`"),
    "file": (f"{HEAD}\nt = HashTableV2() {{{KINDS}}}\ny = LookupTableFindV2(t, asked, default) {FIND}\n"
             "init = InitializeTableFromTextFileV2(t, keys) {key_index=-2, value_index=-1}",
             "`init` (InitializeTableFromTextFileV2) does more than look up `t`"),
    "floats": (CONSTANT.replace("key_dtype=string", "key_dtype=float32"),
               "`t` has keys of the unsupported dtype float32"),
    "size in a branch": (
        PROGRAMS["branch"].text.replace("n = LookupTableSizeV2(t, ^init)", "n = LookupTableSizeV2(st:1)"),
        "`n` reads the size of a table inside a branch or loop"),
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
def test_what_may_change_is_refused(why):
    text, because = REFUSED[why]
    made = graph(text)
    names = list(made.nodes)
    with pytest.raises(TableRefusal) as refused:
        without_tables(made)
    assert because in str(refused.value)
    assert list(made.nodes) == names


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.integers(-9, 9), st.integers(-9, 9), min_size=1), st.lists(st.integers(-12, 12)))
def test_any_entries_are_found(entries, asked):
    keys, values = (", ".join(map(str, part)) for part in (entries, entries.values()))
    made = graph(f"""
    keys = Const() {{dtype=int32, value=int32({len(entries)})[{keys}]}}
    values = Const() {{dtype=float32, value=float32({len(entries)})[{values}]}}
    default = Const() {{dtype=float32, value=float32()[0.5]}}
    asked = Placeholder() {{dtype=int32, shape=(?)}}
    t = HashTableV2() {{key_dtype=int32, value_dtype=float32}}
    init = InitializeTableV2(t, keys, values) {{Tkey=int32, Tval=float32}}
    y = LookupTableFindV2(t, asked, default, ^init) {{Tin=int32, Tout=float32}}
    """)
    without_tables(made)
    (actual,) = answers(made, Program("", {"asked:0": np.array(asked, np.int32)}, ("y:0",)))
    assert actual.tolist() == [entries.get(key, 0.5) for key in asked]


def test_thousands_of_keys_are_found():
    program = PROGRAMS["constant"]
    made = graph(many(MOST_KEYS))
    without_tables(made)
    asked = np.array([[b"0", b"4095"], [b"4096", b"17"]], object)
    y, n = answers(made, type(program)("", {"asked:0": asked}))
    assert (y.tolist(), n.tolist()) == ([[0, 4095], [-1, 17]], MOST_KEYS)


def test_a_graph_without_tables_stays():
    assert without_tables(graph("x = NoOp()")) == []
