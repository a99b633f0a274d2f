"""Models run with TensorFlow's C API in a separate process: tensors and error messages pass unchanged."""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tfport.formats.encoding.tensor import NUMPY
from tfport.formats.proto.graph_pb2 import GraphDef

sys.path.append(str(Path(__file__).parents[2] / "tools/truth/rewrites"))

from jobs import Crash, Job
from release import Installation

INSTALLED = Installation(Path(find_spec("tensorflow").origin).parent)
ATTENTION = Path(__file__).parents[2] / "examples/attention"
STRING = 7
PLAIN = [1, 2, 3, 4, 5, 6, STRING, 8, 9, 10, 14, 17, 18, 19, 22, 23]
"""Types that Identity takes on the CPU, by number; 14 is bfloat16 and 19 half."""


def echo(folder, dtype):
    graph = GraphDef()
    x = graph.node.add(name="x", op="Placeholder")
    x.attr["dtype"].type = dtype
    graph.node.add(name="y", op="Identity", input=["x"]).attr["T"].type = dtype
    (path := folder / f"{dtype}.pb").write_bytes(graph.SerializeToString())
    return path


def test_arrays_of_every_type_go_through_unchanged(tmp_path):
    rng = np.random.default_rng(0)
    texts = np.array([[b"a", b"", b"\0z" * 300]], object)
    arrays = [texts if d == STRING else (9 * rng.random((2, 3))).astype(NUMPY[d]) for d in PLAIN]
    jobs = [Job(echo(tmp_path, d), {"x": a}, fetches=("y",)) for d, a in zip(PLAIN, arrays, strict=True)]
    for answer, expected in zip(INSTALLED.run(jobs).answers, arrays, strict=True):
        assert answer["y"].dtype == expected.dtype
        assert np.array_equal(answer["y"], expected)


def test_what_tensorflow_says_is_the_answer_of_that_job_only(tmp_path):
    graph = GraphDef()
    graph.node.add(name="y", op="UnregisteredEverywhere")
    (tmp_path / "bad.pb").write_bytes(graph.SerializeToString())
    good = Job(echo(tmp_path, 1), {"x": np.float32([1, 2])}, fetches=("y",))
    bad = Job(tmp_path / "bad.pb", {}, fetches=("y",))
    first, second, third = INSTALLED.run([good, bad, good]).answers
    assert "Op type not registered 'UnregisteredEverywhere'" in second
    assert first["y"].tolist() == third["y"].tolist() == [1, 2]


def test_a_crash_is_the_answer_of_that_model_only_and_each_run_is_a_new_process(tmp_path):
    good = Job(echo(tmp_path, 1), {"x": np.float32([1, 2])}, fetches=("y",))
    bad = Job(aborting(tmp_path), {"x": np.float32([1, 2])}, fetches=("y",))
    ran = INSTALLED.run([bad, good], times=3)
    assert len(ran.repeated) == 3
    for crash, answer in ran.repeated:
        assert isinstance(crash, Crash)
        assert crash.startswith("ends the process: SIG")
        assert answer["y"].tolist() == [1, 2]


def aborting(folder):
    """A model that ends the process."""
    graph = GraphDef()
    graph.ParseFromString(echo(folder, 1).read_bytes())
    graph.node.add(name="abort", op="Abort")
    graph.node[1].input.append("^abort")
    (path := folder / "abort.pb").write_bytes(graph.SerializeToString())
    return path


def test_a_model_that_does_not_end_is_reported(tmp_path):
    job = Job(echo(tmp_path, 1), {"x": np.float32([1])}, fetches=("y",))
    (answer,) = INSTALLED.run([job], seconds=0).answers
    assert answer == "does not end in 0 s"
    assert isinstance(answer, Crash)


def test_a_saved_model_answers_by_the_names_of_its_signature():
    import tfport
    from tfport.runtime.select_signature import select_signature

    way = select_signature(tfport.load(str(ATTENTION)))
    inputs = {
        n: np.full([d or 2 for d in s.shape.dims], b"1" if s.dtype.name == "string" else 1, s.dtype.numpy)
        for n, s in way.inputs.items()
    }
    (answer,) = INSTALLED.run([Job(ATTENTION, inputs)], reference=True).answers
    expected = tfport.Session(str(ATTENTION)).signature(way.name)(**inputs)
    assert answer.keys() == expected.keys()
    for name, array in expected.items():
        assert answer[name] == pytest.approx(array, rel=1e-5)
