"""Queues, stacks and optionals."""

import pytest
from tests.recorded_models import graph
from tests.runtime.cases import check, checks, f32, graph_case

import tfport
from tfport.graph.build import graph_to_def

CASES = [
    graph_case("""
        x = Placeholder() {dtype=float32, shape=(?)}
        n = Const() {dtype=int32, value=int32()[-1]}
        s = StackV2(n) {elem_type=float32, stack_name="s"}
        a = StackPushV2(s, x) {T=float32}
        neg = Neg(x) {T=float32}
        b = StackPushV2(s, neg, ^a) {T=float32}
        y = StackPopV2(s, ^b) {elem_type=float32}
        z = StackPopV2(s, ^y) {elem_type=float32}
        """, fetches=["y:0", "z:0"], name="stack", x=f32(1, 2)),
    graph_case("""
        n = Const() {dtype=int32, value=int32()[-1]}
        s = StackV2(n) {elem_type=float32, stack_name="s"}
        y = StackPopV2(s) {elem_type=float32}
        """, fetches=["y:0"], name="stack", fails=True),
    graph_case("""
        x = Placeholder() {dtype=float32, shape=(?)}
        o = OptionalFromValue(x, x) {Toutput_types=[float32, float32]}
        h = OptionalHasValue(o)
        v = OptionalGetValue(o) {output_types=[float32, float32], output_shapes=[(?), (2)]}
        none = OptionalNone()
        g = OptionalHasValue(none)
        """, fetches=["h:0", "g:0", "v:0", "v:1"], name="optional", x=f32(1, 2)),
    graph_case("""
        none = OptionalNone()
        v = OptionalGetValue(none) {output_types=[float32], output_shapes=[(?)]}
        """, fetches=["v:0"], name="optional", fails=True),
    graph_case("""
        x = Placeholder() {dtype=float32, shape=(?)}
        q = FIFOQueueV2() {component_types=[float32], shapes=[()], capacity=10}
        e = QueueEnqueueManyV2(q, x) {Tcomponents=[float32]}
        s = QueueSizeV2(q, ^e)
        y = QueueDequeueV2(q, ^s) {component_types=[float32]}
        two = Const() {dtype=int32, value=int32()[2]}
        z = QueueDequeueManyV2(q, two, ^y) {component_types=[float32]}
        c = QueueCloseV2(q, ^z)
        k = QueueIsClosedV2(q, ^c)
        last = QueueDequeueUpToV2(q, two, ^c) {component_types=[float32]}
        """, fetches=["s:0", "y:0", "z:0", "k:0", "last:0"], name="queue", x=f32(1, 2, 3, 4)),
    graph_case("""
        x = Placeholder() {dtype=float32, shape=(?)}
        y = Placeholder() {dtype=float32, shape=(?)}
        q = PaddingFIFOQueueV2() {component_types=[float32], shapes=[(?)]}
        a = QueueEnqueueV2(q, x) {Tcomponents=[float32]}
        b = QueueEnqueueV2(q, y, ^a) {Tcomponents=[float32]}
        two = Const() {dtype=int32, value=int32()[2]}
        z = QueueDequeueManyV2(q, two, ^b) {component_types=[float32]}
        """, fetches=["z:0"], name="padding", x=f32(1, 2), y=f32(3)),
    graph_case("""
        q = FIFOQueueV2() {component_types=[float32], shapes=[()], capacity=10}
        c = QueueCloseV2(q)
        y = QueueDequeueV2(q, ^c) {component_types=[float32]}
        """, fetches=["y:0"], name="closed", fails=True),
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_queues(c, ways):
    check("queues", c, ways)


def session(text):
    return tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()))


def test_a_queue_persists_between_runs_and_never_blocks():
    queue = session("""
        x = Placeholder() {dtype=float32, shape=()}
        q = FIFOQueue() {component_types=[float32], shapes=[()], capacity=2}
        e = QueueEnqueue(q, x) {Tcomponents=[float32]}
        y = QueueDequeue(q) {component_types=[float32]}
    """)
    for number in (1, 2):
        queue.run("e", {"x:0": f32(number)[0]})
    with pytest.raises(tfport.Error, match="is full, and no other op takes from it"):
        queue.run("e", {"x:0": f32(3)[0]})
    assert [float(queue.run("y:0")) for _ in range(2)] == [1, 2]
    with pytest.raises(tfport.Error, match="open, but nothing fills it: expected 1 elements, found 0"):
        queue.run("y:0")


def test_a_shuffling_queue_gives_what_it_got():
    queue = session("""
        x = Placeholder() {dtype=float32, shape=(?)}
        q = RandomShuffleQueueV2() {component_types=[float32], shapes=[()], min_after_dequeue=0, seed=1}
        e = QueueEnqueueManyV2(q, x) {Tcomponents=[float32]}
        n = Const() {dtype=int32, value=int32()[5]}
        y = QueueDequeueManyV2(q, n) {component_types=[float32]}
    """)
    queue.run("e", {"x:0": f32(1, 2, 3, 4, 5)})
    assert sorted(queue.run("y:0").tolist()) == [1, 2, 3, 4, 5]
