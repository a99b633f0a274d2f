"""Iterators of a session: positions, names and errors."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.recorded_models import graph, load
from tests.runtime.ops.data.dataset_programs import FUNCTIONS, NUMBER, ONE_SHOT, RANGE, program
from tests.runtime.programs import session_of

import tfport
from tfport.graph.build import graph_to_def

COUNTING = f"""
    r = RangeDataset(0L, 4L, 1L) {{{NUMBER}}}
    it = IteratorV2() {{shared_name="", container="", {NUMBER}}}
    make = MakeIterator(r, it)
    x = IteratorGetNext(it) {{{NUMBER}}}
    name = IteratorToStringHandle(it)
    h = Placeholder() {{dtype=string, shape=()}}
    other = IteratorFromStringHandleV2(h) {{{NUMBER}}}
    wrong = IteratorFromStringHandleV2(h) {{output_types=[float32], output_shapes=[()]}}
    y = IteratorGetNext(other) {{{NUMBER}}}
"""


def test_an_iterator_keeps_its_place_between_runs_and_begins_again_when_it_is_made_again():
    session = session_of(program(COUNTING))
    session.run("make")
    assert [int(session.run("x:0")) for _ in range(4)] == [0, 1, 2, 3]
    for _ in range(2):
        with pytest.raises(tfport.RunFailed, match="end of sequence"):
            session.run("x:0")
    session.run("make")
    assert int(session.run("x:0")) == 0


def test_an_iterator_that_was_never_made_says_so():
    with pytest.raises(tfport.RunFailed, match="has no dataset yet: run its initializer"):
        session_of(program(COUNTING)).run("x:0")


def test_an_iterator_is_found_by_its_string():
    session = session_of(program(COUNTING))
    session.run("make")
    handle = session.run("name:0")
    assert [int(session.run("y:0", {"h:0": handle})), int(session.run("x:0"))] == [0, 1]
    with pytest.raises(tfport.RunFailed, match="no iterator of this session has this string handle"):
        session.run("y:0", {"h:0": b"nobody"})
    with pytest.raises(tfport.RunFailed, match="elements of types float32, found int64"):
        session.run("wrong", {"h:0": handle})
    with pytest.raises(tfport.RunFailed, match="no iterator of this session has this string handle"):
        session_of(program(COUNTING)).run("y:0", {"h:0": handle})


def test_each_element_goes_to_one_thread():
    session = session_of(program(COUNTING.replace("4L", "200L")))
    session.run("make")
    with ThreadPoolExecutor(8) as pool:
        elements = list(pool.map(lambda _: int(session.run("x:0")), range(200)))
    assert sorted(elements) == list(range(200))


def test_sessions_have_their_own_places():
    model = tfport.load(graph_to_def(graph(program(ONE_SHOT))).SerializeToString())
    first, two = tfport.Session(model), tfport.Session(model)
    assert [int(s.run("a:0")) for s in (first, first, two)] == [3, 5, 3]


ENDLESS = f"""
    r = RangeDataset(0L, 9223372036854775807L, 1L) {{{NUMBER}}}
    d = RepeatDataset(r, -1L) {{{NUMBER}}}
    it = OneShotIterator() {{dataset_factory=@make, {NUMBER}}}
    x = IteratorGetNext(it) {{{NUMBER}}}
    def make() -> (y: variant):
      r = RangeDataset(0L, 9223372036854775807L, 1L) {{{NUMBER}}}
      d = RepeatDataset(r, -1L) {{{NUMBER}}}
      return y=d
"""


def test_an_endless_dataset_is_read_only_as_requested():
    session = session_of(program(ENDLESS))
    assert [int(session.run("x:0")) for _ in range(3)] == [0, 1, 2]


READS = f"""
    v = VarHandleOp() {{dtype=int64, shape=(), shared_name="v", container=""}}
    set = AssignVariableOp(v, n) {{dtype=int64}}
    n = Placeholder() {{dtype=int64, shape=()}}
    r = RangeDataset(0L, 4L, 1L) {{{NUMBER}}}
    d = MapDataset(r, v) {{f=@add, Targuments=[resource], {NUMBER}}}
    it = IteratorV2() {{shared_name="", container="", {NUMBER}}}
    make = MakeIterator(d, it)
    x = IteratorGetNext(it) {{{NUMBER}}}
    def add(x: int64, v: resource) -> (y: int64):
      n = ReadVariableOp(v) {{dtype=int64}}
      m = AddV2(x, n) {{T=int64}}
      return y=m
"""


def test_a_function_reads_a_variable_as_it_is_when_an_element_is_asked_for():
    session = session_of(program(READS))
    session.run("set", {"n:0": np.int64(100)})
    session.run("make")
    assert int(session.run("x:0")) == 100
    session.run("set", {"n:0": np.int64(200)})
    assert int(session.run("x:0")) == 201


FAILING = f"""
    r = RangeDataset(-1L, 2L, 1L) {{{NUMBER}}}
    d = MapDataset(r) {{f=@divided, Targuments=[], {NUMBER}}}
    it = IteratorV2() {{shared_name="", container="", {NUMBER}}}
    make = MakeIterator(d, it)
    x = IteratorGetNext(it) {{{NUMBER}}}
"""


def test_an_iterator_continues_after_an_element_that_failed():
    session = session_of(program(FAILING + FUNCTIONS))
    session.run("make")
    assert int(session.run("x:0")) == -12
    with pytest.raises(tfport.RunFailed, match="FloorDiv"):
        session.run("x:0")
    assert int(session.run("x:0")) == 12


def test_a_dataset_inside_a_saved_function():
    total = tfport.Session(load("datasets")).signature("serving_default")
    assert total(n=5) == {"output_0": np.float32(35)}
    assert total(n=0) == {"output_0": np.float32(0)}


def test_an_input_pipeline_of_tf1():
    session = tfport.Session(load("input_pipeline"))
    session.run("MakeIterator")
    numbers, text = session.run(["IteratorGetNext:0", "IteratorGetNext:1"])
    assert numbers.tolist() == [2, 3]
    assert text.tolist() == [b"2", b"3"]


def test_what_would_write_a_file_is_refused():
    text = f"""
{RANGE}    name = Const() {{dtype=string, value=string()["/tmp/x"]}}
    d = CacheDataset(r, name) {{{NUMBER}}}
    n = DatasetCardinality(d)
"""
    with pytest.raises(tfport.RunFailed, match="models may not write files"):
        session_of(program(text)).run("n:0")


def test_an_unsupported_dataset_op_is_refused():
    text = f"{RANGE}    d = AutoShardDataset(r, 1L, 0L) {{{NUMBER}}}\n    n = DatasetCardinality(d)"
    with pytest.raises(tfport.CannotRun, match="AutoShardDataset"):
        session_of(program(text)).run("n:0")


def nested(count):
    takes = "\n".join(f"    d{i + 1} = TakeDataset(d{i}, -1L) {{{NUMBER}}}" for i in range(count))
    read = f"    y = DatasetToSingleElement(d{count}) {{{NUMBER}}}"
    return session_of(program(f"    d0 = RangeDataset(7L, 8L, 1L) {{{NUMBER}}}\n{takes}\n{read}"))


def test_datasets_stand_on_each_other_as_deeply_as_python_can_ask():
    assert int(nested(280).run("y:0")) == 7
    with pytest.raises(tfport.RunFailed, match="more than 300 datasets"):
        nested(310).run("y:0")
