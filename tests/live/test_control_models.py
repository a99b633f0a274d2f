"""Recorded models with branches, loops, lists and recurrent layers: tfport's answers equal TensorFlow's."""

from pathlib import Path

import numpy as np
import pytest
from tests.live import answers as live
from tests.recorded_models import EXPECTED, load, path_of

import tfport

MODELS = [
    "conditions", "control_outputs", "default_arguments", "functional_loops", "keras_lstm", "loops_v2",
    "nested_functions", "tensor_lists",
]  # fmt: skip


def fed(session, names):
    values = {name: session.model.graph.value(name) for name in names}
    return {
        name: live.made(name, live.tf.as_dtype(v.dtype.name), live.tf.TensorShape(v.shape.dims))
        for name, v in values.items()
    }


def ours(name, asked):
    """Return tfport's answer to a request to TensorFlow: `['serve'] signature`, or a tensor."""
    kind = EXPECTED[name]["kind"]
    if kind != "saved_model":
        session = tfport.Session(load(name))
        feeds = [n.output(0).name for n in session.model.graph if n.op == "Placeholder"]
        return session.run([asked], fed(session, feeds))
    tags, _, signature = asked.rpartition(" ")
    session = tfport.Session(load(name, tags=eval(tags)))
    spec = session.model.signatures[signature]
    feeds = [tensor for info in spec.inputs.values() for tensor in info.tensors]
    fetches = [tensor for _, info in sorted(spec.outputs.items()) for tensor in info.tensors]
    return session.run(fetches, fed(session, feeds))


@pytest.mark.parametrize("name", MODELS)
def test_tfport_answers_as_tensorflow_does(name):
    expected = live.answers(EXPECTED[name]["kind"], Path(path_of(name)))
    answered = 0
    for asked, theirs in expected.items():
        if isinstance(theirs, str):
            continue
        answered += 1
        for answer, right in zip(ours(name, asked), theirs, strict=True):
            if right is not None and right.dtype.kind == "f":
                np.testing.assert_allclose(answer, right, rtol=1e-5, atol=1e-6)
            else:
                assert np.array_equal(answer, right)
    assert answered


FORWARD = {  # a tensor before the gradients, which are not compared here, and its feeds
    "loops": ("outer/Exit_1:0", [np.float32(x) for x in (0.5, 1.5, 3.0, 20.0)]),
    "tensor_arrays": ("scan/TensorArrayStack/TensorArrayGatherV3:0", [np.ones((4, 2), np.float32)]),
}


@pytest.mark.parametrize("name", FORWARD)
def test_loops_that_gradients_have_grown_into_run_without_them(name):
    with live.tf.Graph().as_default() as graph:
        live.tf.import_graph_def(live.facts.parse(Path(path_of(name)), live.v1.GraphDef()), name="")
    fetch, feeds = FORWARD[name]
    session = tfport.Session(load(name))
    with live.v1.Session(graph=graph) as theirs:
        for x in feeds:
            np.testing.assert_allclose(
                session.run(fetch, {"x:0": x}), theirs.run(fetch, {"x:0": x}), rtol=1e-5
            )
    with pytest.raises(tfport.Error, match="cannot run here"):
        session.run("slope:0", {"x:0": feeds[0]})
