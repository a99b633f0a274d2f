"""Elements that a loop did not write are zeros, on releases that cannot read them too."""

import numpy as np
import pytest
from tests.recorded_models import graph

import tfport
from tfport.fix.structure.adapt_to_release import append_unwritten
from tfport.graph.build import graph_to_def

LOOP = """
n = Placeholder() {{dtype=int32, shape=()}}
size = Const() {{dtype=int32, value=int32()[5]}}
zero = Const() {{dtype=int32, value=int32()[0]}}
first = Const() {{dtype=int32, value=int32()[{first}]}}
one = Const() {{dtype=int32, value=int32()[1]}}
row = Const() {{dtype={dtype}, value={dtype}(2,){row}}}
array = TensorArrayV3(size) {{dtype={dtype}, element_shape=(2,)}}
enter = Enter(first) {{T=int32, frame_name="w", is_constant=false, parallel_iterations=1}}
enter_flow = Enter(array:1) {{T=float32, frame_name="w", is_constant=false, parallel_iterations=1}}
enter_n = Enter(n) {{T=int32, frame_name="w", is_constant=true, parallel_iterations=1}}
enter_row = Enter(row) {{T={dtype}, frame_name="w", is_constant=true, parallel_iterations=1}}
enter_array = Enter(array) {{T=resource, frame_name="w", is_constant=true, parallel_iterations=1}}
merge = Merge(enter, next) {{N=2, T=int32}}
merge_flow = Merge(enter_flow, next_flow) {{N=2, T=float32}}
less = Less(merge, enter_n) {{T=int32}}
cond = LoopCond(less)
switch = Switch(merge, cond) {{T=int32}}
switch_flow = Switch(merge_flow, cond) {{T=float32}}
i = Identity(switch:1) {{T=int32}}
f = Identity(switch_flow:1) {{T=float32}}
step = Const(^i) {{dtype=int32, value=int32()[{step}]}}
more = Add(i, step) {{T=int32}}
write = TensorArrayWriteV3(enter_array, i, enter_row, f) {{T={dtype}}}
next = NextIteration(more) {{T=int32}}
next_flow = NextIteration(write) {{T=float32}}
exit_flow = Exit(switch_flow) {{T=float32}}
length = TensorArraySizeV3(array, exit_flow)
places = Range(zero, length, one) {{Tidx=int32}}
y = TensorArrayGatherV3(array, places, exit_flow) {{dtype={dtype}, element_shape=(2,)}}
"""
TYPES = {"float32": "[1.5, 2.0]", "int64": "[3, 4]", "string": '["a", "bc"]', "bool": "[true, true]"}
APPENDED = "zeros for unwritten elements"


def program(first=0, step=1, dtype="float32"):
    text = LOOP.format(first=first, step=step, dtype=dtype, row=TYPES[dtype])
    return graph_to_def(graph(text)).SerializeToString()


@pytest.mark.parametrize("dtype", TYPES)
def test_only_written_elements_are_stacked_and_the_answer_is_the_same(dtype):
    before, after = tfport.load(program(dtype=dtype)), tfport.load(program(dtype=dtype))
    assert append_unwritten(after.graph) == [("y", "TensorArrayGatherV3")]
    stacked = next(node for node in after.graph if node.op == "TensorArrayGatherV3")
    assert stacked.inputs[1].node.inputs[1].node.op == "Exit"
    sessions = [tfport.Session(before), tfport.Session(after)]
    for written in (0, 1, 3, 5):
        expected, actual = (session.run(["y:0"], {"n:0": np.int32(written)})[0] for session in sessions)
        assert actual.tolist() == expected.tolist()
        assert actual.dtype == expected.dtype


@pytest.mark.parametrize("change", [{"first": 1}, {"step": 2}])
def test_a_loop_that_does_not_count_by_one_from_zero_keeps_its_array(change):
    model = tfport.load(program(**change))
    assert append_unwritten(model.graph) == []
    assert model.graph["y"].op == "TensorArrayGatherV3"


@pytest.mark.parametrize(
    ("target", "is_changed"), [("tensorflow==1.4.1", True), ("tensorflow==1.5.1", False)]
)
def test_only_old_releases_need_it(target, is_changed):
    result = tfport.fix(program(), target=target, fetches=["y:0"])
    assert (APPENDED in [entry.name for entry in result.journal.entries]) is is_changed
    assert (result.model.graph["y"].op == "ConcatV2") is is_changed
