"""TF-TRT models: the function of an engine runs in its place, and without it the reason is given."""

import numpy as np
import pytest
from tests.recorded_models import graph

import tfport
from tfport.errors import CannotRun
from tfport.fix.export import export_model
from tfport.fix.options import FixOptions
from tfport.graph.build import graph_to_def
from tfport.graph.inline import NO_SEGMENT

ATTRS = 'serialized_segment="", InT=[float32], OutT=[float32], workspace_size_bytes=0, precision_mode="FP16"'
ENGINE = f"""
x = Placeholder() {{{{dtype=float32, shape=(2)}}}}
y = TRTEngineOp(x) {{{{{ATTRS}, segment_func=@{{function}}}}}}

def square(a: float32) -> (r: float32):
  m = Mul(a, a) {{{{T=float32}}}}
  return r=m
"""


def model_of(function):
    return tfport.load(graph_to_def(graph(ENGINE.format(function=function))).SerializeToString())


def verdicts(model):
    targets = ["tensorflow==2.18.1", "tfport", "tfjs==4.22.0"]
    return [(result.target, result.verdict) for result in tfport.check(model, on=targets).results]


def test_its_function_runs_in_place_of_an_engine(tmp_path):
    model = model_of("square")
    assert verdicts(model)[0][1] == "fails"
    assert [verdict for _, verdict in verdicts(model)[1:]] == ["runs", "runs"]
    feeds = {"x:0": np.float32([2, 3])}
    assert tfport.Session(model).run(["y:0"], feeds)[0].tolist() == [4, 9]
    export_model(model, tmp_path / "saved", as_graph=False, options=FixOptions())
    saved = tfport.load(tmp_path / "saved")
    assert tfport.check(saved, on="tensorflow==2.18.1").verdict == "runs"
    (answer,) = tfport.Session(saved).signature("serving_default")(x=feeds["x:0"]).values()
    assert answer.tolist() == [4, 9]


def test_an_engine_without_its_function_is_refused_with_the_reason(tmp_path):
    model = model_of("lost")
    assert [verdict for _, verdict in verdicts(model)] == ["fails", "fails", "fails"]
    with pytest.raises(CannotRun, match=NO_SEGMENT):
        tfport.Session(model).run(["y:0"], {"x:0": np.float32([2, 3])})
    with pytest.raises(CannotRun, match=NO_SEGMENT):
        export_model(model, tmp_path / "saved", as_graph=False, options=FixOptions())
    assert not (tmp_path / "saved").exists()
