"""Tables as references and as resources: outputs stay the same, or the change is refused."""

import numpy as np
import pytest
from tests.fix.structure.table_programs import (
    BACKWARDS,
    BRANCH,
    CONSTANT,
    FIND,
    HEAD,
    KINDS,
    MUTABLE,
    PROGRAMS,
)
from tests.recorded_models import graph, load

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.structure.tables import V2, TableRefusal, tables_to_v1, tables_to_v2
from tfport.graph.build import graph_to_def
from tfport.graph.inline import callee, inline
from tfport.graph.text import node_text

NEW = {*V2.created, *V2.read}
IN_MEMORY = {
    "HashTableV2", "MutableHashTableV2", "MutableDenseHashTableV2", "LookupTableFindV2", "LookupTableSizeV2",
    "LookupTableImportV2", "LookupTableExportV2",
}  # fmt: skip


def answers(of, program):
    return tfport.Session(tfport.load(graph_to_def(of).SerializeToString())).run(
        program.fetches, program.feeds
    )


def assert_equal(actual, expected):
    for a, b in zip(actual, expected, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.asarray(a).tolist() == np.asarray(b).tolist()


@pytest.mark.parametrize("name", PROGRAMS)
def test_references_answer_as_resources_do(name):
    program = PROGRAMS[name]
    made = graph(program.text)
    expected = answers(graph(program.text), program)
    assert tables_to_v1(made)
    assert not {node.op for node in made} & NEW
    assert_equal(answers(made, program), expected)
    tables_to_v2(made)
    assert_equal(answers(made, program), expected)


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"list", "list of tables"}))
def test_there_and_back_is_the_same_program(name):
    made, before = graph(PROGRAMS[name].text), graph(PROGRAMS[name].text)
    first, second = tables_to_v1(made), tables_to_v2(made)
    assert {name for name, _ in first} == {name for name, _ in second}
    assert [node_text(node) for node in made] == [node_text(node) for node in before]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_release_takes_references(name):
    made = graph(PROGRAMS[name].text)
    tables_to_v1(made)
    checker = NodeChecker(resolve_targets("tensorflow==1.0.0")[0], 17)
    problems = [(node, problem) for node in made for problem in checker.unresolved(node)]
    assert not [pair for pair in problems if pair[0].op != "IdentityN"]


def test_changes_are_reported():
    changed = tables_to_v1(graph(CONSTANT))
    assert changed == [
        ("t", "HashTableV2"),
        ("init", "InitializeTableV2"),
        ("y", "LookupTableFindV2"),
        ("n", "LookupTableSizeV2"),
    ]
    journal = Journal()
    journal.changed("tables_to_v1", "said", changed)
    assert journal.entries[0].count == 4


def test_a_graph_without_tables_stays():
    assert tables_to_v1(graph("x = NoOp()")) == []
    assert tables_to_v2(graph("x = NoOp()")) == []


def test_handles_are_handed_on_as_references():
    made = graph(BRANCH)
    tables_to_v1(made)
    assert (made["st"].op, made["sa"].op) == ("RefSwitch", "Switch")
    made = graph(BACKWARDS)
    tables_to_v1(made)
    assert node_text(made["same"]) == "same = RefIdentity(t) {T=string}"


@pytest.mark.parametrize("offset", [0, 3])
def test_an_offset_into_a_file_is_said_only_where_there_is_one(offset):
    made = graph(f"""{HEAD}
    t = HashTableV2() {{{KINDS}}}
    file = Const() {{dtype=string, value=string()["words.txt"]}}
    init = InitializeTableFromTextFileV2(t, file) {{key_index=-2, value_index=-1, offset={offset}}}
    """)
    tables_to_v1(made)
    assert made["init"].op == "InitializeTableFromTextFile"
    assert made["init"].attrs.get("offset", 0) == offset
    assert ("offset" in made["init"].attrs) == bool(offset)


def test_a_key_for_what_was_deleted_is_left_out():
    made = graph("""
    empty = Const() {dtype=int64, value=int64()[0]}
    deleted = Const() {dtype=int64, value=int64()[-1]}
    t = MutableDenseHashTableV2(empty, deleted) {key_dtype=int64, value_dtype=int64}
    n = LookupTableSizeV2(t)
    """)
    tables_to_v1(made)
    assert node_text(made["t"]).startswith("t = MutableDenseHashTable(empty) ")


REFUSED = {
    "removed from": (tables_to_v1, MUTABLE + "gone = LookupTableRemoveV2(t, keys) {Tin=string}",
                     "LookupTableRemoveV2 cannot read tables that are references"),
    "called": (tables_to_v1, CONSTANT + "z = StatefulPartitionedCall(t) {Tin=[resource], Tout=[], f=f}",
               "`z` passes the table `t` to a function"),
    "merged with another thing": (
        tables_to_v1,
        CONSTANT + "other = VarHandleOp() {dtype=float32, shape=()}\nm = Merge(t, other) {N=2, T=resource}",
        "`m` passes on `other` as well as a table"),
    "anonymous": (tables_to_v1, CONSTANT.replace("HashTableV2(", "AnonymousHashTable("),
                  "`t` is a AnonymousHashTable, which lives for one run"),
    "dense": (
        tables_to_v2,
        "e = Const() {dtype=int64, value=int64()[0]}\n"
        "t = MutableDenseHashTable(e) {key_dtype=int64, value_dtype=int64}",
        "`t` is a MutableDenseHashTable; its V2 op needs a deleted key, which V1 does not have"),
    "named": (tables_to_v2, f"{HEAD}\nt = HashTable() {{{KINDS}}}\nname = Identity(t) {{T=string}}",
              "Identity cannot read tables that are resources"),
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
def test_what_has_no_other_form_is_refused(why):
    convert, text, because = REFUSED[why]
    made = graph(text)
    before = [node_text(node) for node in made]
    with pytest.raises(TableRefusal) as refused:
        convert(made)
    assert because in str(refused.value)
    assert [node_text(node) for node in made] == before


def test_tables_that_share_a_name_still_do():
    program = PROGRAMS["constant"]
    text = CONSTANT.replace(f"{{{KINDS}}}", f'{{{KINDS}, shared_name="one"}}')
    text += f'u = HashTableV2() {{{KINDS}, shared_name="one"}}\n'
    text += f"z = LookupTableFindV2(u, asked, default, ^init) {FIND}"
    made = graph(text)
    tables_to_v1(made)
    y, z = answers(made, type(program)(text, fetches=("y:0", "z:0")))
    assert y.tolist() == z.tolist() == [[20, -1], [30, 10]]


def flat(name):
    """A model that TensorFlow wrote, with all calls in its main graph."""
    model = load(name)
    while calls := [node for node in model.graph if callee(node) is not None]:
        for call in calls:
            inline(call)
    return model


def test_a_model_of_tensorflow_keeps_its_answers():
    model, signature = flat("tables_in_memory"), "serving_default"
    fed = {"args_0": np.array([b"a", b"b", b"?"], object)}
    before = tfport.Session(flat("tables_in_memory")).signature(signature)(**fed)
    assert {op for _, op in tables_to_v1(model.graph)} == IN_MEMORY
    assert not {node.op for node in model.graph} & NEW
    after = tfport.Session(model).signature(signature)(**fed)
    assert {k: v.tolist() for k, v in after.items()} == {k: v.tolist() for k, v in before.items()}
