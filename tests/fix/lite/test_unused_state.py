"""Variables that no output depends on are left out for interpreters without variables."""

from dataclasses import replace

import pytest
from tests.frontends.lite.graphs import graph, lite_file, op
from tests.runtime.cases import f32

import tfport
from tfport.atlas.lite.releases import lite_release
from tfport.fix.certify.verify import verify
from tfport.fix.lite.rewrite import STATE, LiteRewrite
from tfport.formats.lite.write import lite_bytes

NEWEST = lite_release("ai-edge-litert", "2.3.0")
WITHOUT_VARIABLES = replace(NEWEST, ops={**NEWEST.ops, **dict.fromkeys(STATE, frozenset())})
HANDLE = op("VAR_HANDLE", "", "v", shared_name="counter")


def counting(result):
    """A model with a counter; `result` is the tensor that it returns."""
    main = graph(
        f"x -> {result}",
        op("CALL_ONCE", "", "", init_subgraph_index=1),
        HANDLE,
        op("READ_VARIABLE", "v", "old"),
        op("ADD", "old one", "new"),
        op("ASSIGN_VARIABLE", "v new", ""),
        op("NEG", "x", "y"),
        x="FLOAT32 2", y="FLOAT32 2", v="RESOURCE", old="FLOAT32 2", new="FLOAT32 2", one=f32(1, 1),
    )  # fmt: skip
    start = graph(" -> ", HANDLE, op("ASSIGN_VARIABLE", "v zero", ""), v="RESOURCE", zero=f32(0, 0))
    return lite_bytes(lite_file(main, start))


def test_a_counter_that_no_output_depends_on_is_left_out():
    model = tfport.load(counting("y"))
    rewrite = LiteRewrite(model.lite, WITHOUT_VARIABLES)
    assert rewrite.reasons == []
    assert [node.code.op for graph in rewrite.file.subgraphs for node in graph.operators] == ["NEG"]
    assert {tensor.type for graph in rewrite.file.subgraphs for tensor in graph.tensors} == {"FLOAT32"}
    assert [entry.name for entry in rewrite.journal.entries] == ["without unused state"]
    assert verify(model, tfport.load(lite_bytes(rewrite.file))).verdict == "alike"


@pytest.mark.parametrize("result", ["new", "y new"])
def test_a_counter_that_is_returned_stays(result):
    rewrite = LiteRewrite(tfport.load(counting(result)).lite, WITHOUT_VARIABLES)
    assert any("READ_VARIABLE" in reason for reason in rewrite.reasons)


def test_it_stays_where_the_interpreter_has_variables():
    rewrite = LiteRewrite(tfport.load(counting("y")).lite, NEWEST)
    assert rewrite.reasons == []
    assert not rewrite.journal.entries
