"""`check.explain`: every message that real binaries were heard to say, however logs wrap it."""

import io
import json
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.truth_outcomes import read_small_model_outcomes

import tfport
from tfport.atlas.target import resolve_targets
from tfport.check.explain.explain import explain_log, explain_texts
from tfport.check.explain.find import MessageFinder
from tfport.check.explain.log import LONGEST_LINE, WINDOW, clean, lines_of
from tfport.check.explain.lookup import lookup_function
from tfport.check.explain.messages import GAP, KINDS, messages
from tfport.check.explain.symbols import readable
from tfport.check.findings.finding import all_findings

HERE = Path(__file__).parent / "messages"
RECORDS = read_small_model_outcomes()
SAMPLES = tomllib.loads((HERE / "samples.toml").read_text())["sample"]
NOT_TENSORFLOWS = re.compile(  # what those who watched put in their own words, and bare names
    r"TF_GraphOperationByName finds|there is no such signature|does not end in|ends the process"
    r"|StopIteration: $|KeyError: 'ghost'|IndexError: list index out of range$|no answer in|KeyError: 0$"
)
FILLED = {
    "op": "Acme", "name": "acme", "node": "a/b", "number": "7", "version": "7.1", "type": "float",
    "device": "/device:GPU:0", "library": "libacme.so.1", "symbol": "_ZN4acme3runEv", "path": "a/b.pb",
    "value": "seven", "shape": "[1,7]", "words": "some words",
}  # fmt: skip


def names(explained):
    return [explanation.name for explanation in explained.explanations]


def told(explanation):
    return "\n".join([*explanation.means, *explanation.ways_out, *explanation.on_target])


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample['name']}: {sample['says'][:40]}")
def test_a_message_is_explained_by_what_is_recorded(sample):
    found = explain_texts([sample["says"]]).explanations
    assert [explanation.name for explanation in found] == [sample["name"]]
    assert found[0].code == sample.get("code")
    for words in sample["tells"]:
        assert words in told(found[0])


@pytest.mark.parametrize("message", messages(), ids=lambda message: message.name)
def test_every_wording_is_found_by_its_row(message):
    for pattern in message.says:
        text = GAP.sub(lambda gap: FILLED[gap[2] or gap[1]], pattern.text).replace("…", " and so on ")
        said = {said.message.name for said in MessageFinder().read([text])}
        assert message.name in said, pattern.text


@pytest.mark.parametrize("message", messages(), ids=lambda message: message.name)
def test_a_row_of_the_table_holds_together(message):
    assert message.code is None or message.code in all_findings()
    assert message.lookup is None or callable(lookup_function(message.lookup))
    assert message.means.endswith(".")
    for pattern in message.says:
        assert len(pattern.anchor) >= 6, pattern.text
        assert pattern.text.count("…") <= 1, "time grows with the square of two"
        assert {kind or name for name, kind in GAP.findall(pattern.text)} <= KINDS.keys()


def test_no_two_rows_have_one_name():
    found = [message.name for message in messages()]
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", RECORDS)
def test_messages_of_real_releases_are_recognized(name):
    outcomes = [o for by_loader in RECORDS[name]["outcomes"].values() for o in by_loader.values()]
    messages = {o["message"] for o in outcomes if o["stage"] and o["message"]}
    messages = {text for text in messages if not NOT_TENSORFLOWS.search(text)}
    assert [
        text for text in sorted(messages) if not MessageFinder().read(text.splitlines(keepends=True))
    ] == []


def test_the_same_message_is_explained_once():
    found = explain_texts(["Op type not registered 'AddV2' in binary running on box.\n" * 300])
    assert [(e.name, e.count) for e in found.explanations] == [("unregistered-op", 300)]


def test_a_log_of_serving_is_one_cause_and_one_remark():
    with (HERE / "serving.log").open() as log:
        found = explain_log(lines_of(log))
    assert [(e.name, e.kind, e.count) for e in found.explanations] == [
        ("unregistered-op", "error", 3),
        ("harmless-remark", "harmless", 1),
    ]
    assert "since 2.5.0" in told(found.explanations[0])


def test_a_message_over_several_records_of_a_container_is_whole():
    with (HERE / "kubernetes.jsonl").open() as log:
        (found,) = explain_log(lines_of(log)).explanations
    assert (found.name, found.names["op"]) == ("no-kernel", "CudnnRNN")
    assert "only kernels for GPU" in told(found)


@pytest.mark.parametrize("name", ["terminal.log", "response.json"])
def test_colours_broken_words_and_escapes_do_not_matter(name):
    with (HERE / name).open() as log:
        (found,) = explain_log(lines_of(log)).explanations
    assert found.names == {"op": "BatchMatMulV2"}


@pytest.mark.parametrize("quote", ["'", '"', "`", "\u2018", "\\'", "&#39;", ""])
def test_any_quotes_will_do(quote):
    (found,) = explain_texts([f"Op type not registered {quote}AddV2{quote} in binary"]).explanations
    assert found.names == {"op": "AddV2"}


def test_what_wraps_an_error_is_told_beside_it():
    inner = "Op type not registered 'SelectV2' in binary running on box."
    wrapped = (
        f"Converting GraphDef to Graph has failed with an error: '{inner}' The binary trying to import the "
        "GraphDef was built when GraphDef version was 24. The GraphDef was produced by a binary built when "
        "GraphDef version was 987. The difference between these versions is larger"
    )
    assert names(explain_texts([wrapped])) == ["unregistered-op", "graph-versions"]


def test_where_something_happened_is_told_only_where_nothing_else_is():
    trace = "InvalidArgumentError: max_a must be larger than min_a.\n\t [[{{node m}}]]"
    assert names(explain_texts([trace])) == ["raised-at-node"]
    assert names(explain_texts([trace, "\nTable not initialized\n"])) == ["table-not-initialized"]


def test_a_key_error_about_no_op_is_no_message():
    assert names(explain_texts(["KeyError: 'user_id'"])) == []


def test_a_target_is_asked_too():
    (target,) = resolve_targets("tensorflow==1.13.2")
    (found,) = explain_texts(["Op type not registered 'BatchMatMulV2'"], target=target).explanations
    assert found.on_target == ["tensorflow 1.13.2 does not register BatchMatMulV2; it has BatchMatMul"]


def test_an_add_on_is_named_in_the_version_that_goes_with_a_target():
    (target,) = resolve_targets("tensorflow==2.8.4")
    (found,) = explain_texts(["Op type not registered 'CaseFoldUTF8'"], target=target).explanations
    assert "tensorflow-text==2.8.2 matches the target and registers CaseFoldUTF8" in found.on_target


@pytest.mark.parametrize(
    ("version", "releases"),
    [
        ("2.1", ["2.1.2", "2.1.3", "2.1.4"]),
        ("2.1.0", ["2.1.0"]),
        ("2", ["2.20.0", "2.21.0"]),
        ("1.1", ["1.1.0"]),
    ],
)
def test_a_version_matches_its_own_patches_only(version, releases):
    text = f"ERROR: No matching distribution found for tensorflow=={version}"
    (explanation,) = explain_texts([text]).explanations
    listed = [fact.split()[1] for fact in explanation.means if "has wheels for Python" in fact]
    assert listed[-len(releases) :] == releases
    assert len(listed) <= 3


def test_the_nodes_of_a_model_are_shown():
    model = tfport.load("examples/attention")
    (target,) = resolve_targets("tensorflow==1.13.2")
    text = ["Op type not registered 'BatchMatMulV2'"]
    (found,) = explain_texts(text, model=model, target=target).explanations
    assert found.affected.count == 5
    assert found.affected.examples[0].signatures == ["serving_default"]
    assert found.affected.predicted[0].startswith("TFP101 op `BatchMatMulV2` is not registered")


def test_a_message_about_another_model_is_said_to_be():
    model = tfport.load("examples/attention")
    (found,) = explain_texts(["Op type not registered 'FusedBatchNormV3'"], model=model).explanations
    assert found.affected.count == 0


def test_what_nobody_knows_gets_the_nearest():
    found = explain_texts(["the op type was not registred"])
    assert (found.explanations, found.nearest) == ([], "Op type not registered '{op}'")
    assert explain_texts(["nothing of interest"]).nearest is None


def test_a_message_across_the_end_of_a_window_is_found_once():
    message = "Op type not registered 'AddV2' in binary\n"
    for before in range(WINDOW - 60, WINDOW + 20, 7):
        log = io.StringIO(
            "x" * 99 + "\n" + ("y " * 49 + "\n") * (before // 99) + "z" * (before % 99) + "\n" + message
        )
        assert [(e.name, e.count) for e in explain_log(lines_of(log)).explanations] == [
            ("unregistered-op", 1)
        ]


def test_too_many_different_messages_are_counted():
    found = explain_texts([f"Table x: Key k{i} not found in checkpoint\n" for i in range(130)])
    assert (len(found.explanations), found.more) == (100, 30)


def test_a_line_without_end_is_read_in_pieces():
    lines = list(lines_of(io.StringIO("x" * (3 * LONGEST_LINE))))
    assert max(map(len, lines)) == LONGEST_LINE


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN10tensorflow8OpKernelC2EPNS_20OpKernelConstructionE", "tensorflow::OpKernel"),
        ("_ZNK10tensorflow8OpKernel11TraceStringB5cxx11ERKNS_15OpKernelContextEb",
         "tensorflow::OpKernel::TraceString"),
        ("_ZTIN10tensorflow8OpKernelE", "tensorflow::OpKernel"),
        ("TF_LoadLibrary", "TF_LoadLibrary"),
        ("_Z", "_Z"),
        ("_ZN99999x", "x"),
    ],
)  # fmt: skip
def test_a_mangled_name_is_read(symbol, name):
    assert readable(symbol) == name


PIECES = sorted({pattern.anchor for message in messages() for pattern in message.says})
SIGNS = ["'", '"', "{", "}", "[", "]", "\n", " ", "\\n", "{{node ", "=", "DT_", "device='", "; ", "Op<name="]
HOSTILE = st.lists(st.sampled_from(PIECES) | st.sampled_from(SIGNS) | st.text(max_size=8), max_size=60)


@given(HOSTILE.map("".join))
@settings(max_examples=150, deadline=None)
def test_no_text_breaks_it(text):
    found = explain_texts([text])
    assert isinstance(str(found), str)
    assert json.dumps(found.to_json())


@given(st.sampled_from(PIECES), st.sampled_from(PIECES), st.text(max_size=20))
@settings(max_examples=40, deadline=None)
def test_what_begins_like_messages_a_thousand_times_does_not_keep_it(one, other, between):
    found = MessageFinder().read((f"{one}{between}{other} " * 1000).splitlines(keepends=True))
    assert all(said.count <= 2000 for said in found)


@given(st.text(max_size=300))
def test_cleaning_gives_words(text):
    assert all(word.split() == [word] for word in clean(text))
