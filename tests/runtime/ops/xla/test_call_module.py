"""StableHLO programs in XlaCallModule, compared with the answers of `tests.live.record_stablehlo`."""

import numpy as np
import pytest
from tests.frontends.stablehlo.programs import KINDS, PROGRAMS, VERSIONS, X
from tests.runtime.answers import recorded_answers

import tfport
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.dtypes import DType


def result_types(kinds):
    return [DType.parse(KINDS[kind[7:-1].split("x")[-1]]) for kind in kinds]


def module_graph(module, inputs, kinds, platforms=(b"CPU",), sizes=(), shapes=None):
    """A graph with the module in one node, `y`."""
    made = pb.GraphDef()
    made.versions.producer = 2474
    node = pb.NodeDef(name="y", op="XlaCallModule")
    for i, array in enumerate(inputs):
        placeholder = made.node.add(name=f"x{i}", op="Placeholder")
        placeholder.attr["dtype"].type = DType.parse(array.dtype.name).number
        placeholder.attr["shape"].shape.SetInParent()
        for n in shapes[i] if shapes else array.shape:
            placeholder.attr["shape"].shape.dim.add(size=n)
        node.input.append(f"x{i}")
    node.attr["Tin"].list.type.extend(DType.parse(a.dtype.name).number for a in inputs)
    node.attr["Tin"].list.SetInParent()
    node.attr["Tout"].list.type.extend(t.number for t in result_types(kinds))
    for kind in kinds:
        shape = node.attr["Sout"].list.shape.add()
        for n in kind[7:-1].split("x")[:-1]:
            shape.dim.add(size=int(n))
    node.attr["version"].i = 9
    node.attr["module"].s = module
    node.attr["platforms"].list.s.extend(platforms)
    node.attr["dim_args_spec"].list.s.extend(sizes)
    made.node.append(node)
    return made


def call(module, inputs, kinds, **attrs):
    """Run a module on inputs."""
    session = tfport.Session(tfport.load(module_graph(module, inputs, kinds, **attrs).SerializeToString()))
    return session.run([f"y:{i}" for i in range(len(kinds))], {f"x{i}:0": a for i, a in enumerate(inputs)})


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, version):
    _, inputs, kinds = PROGRAMS[name]
    old, new, *expected = recorded_answers("stablehlo")[name]
    module = (old if version == VERSIONS[0] else new).tobytes()
    if not module:
        pytest.skip("StableHLO of that version cannot say this")
    arrays = call(module, inputs, kinds)
    for ours, theirs in zip(arrays, expected, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
        else:
            assert ours.tolist() == theirs.tolist()


def module_of(name):
    return recorded_answers("stablehlo")[name][1].tobytes()


def test_a_module_for_several_platforms_gets_the_platform():
    """Its first argument is the number of the platform; `case` here negates for the first."""
    for platforms, sign in (([b"CPU", b"CUDA"], -1), ([b"CUDA", b"CPU"], 1)):
        arrays = call(module_of("case"), (X,), ["tensor<3x4xf32>"], platforms=platforms)
        assert np.array_equal(arrays[0], sign * X)


def test_unsupported_programs_fail_before_anything_runs():
    with pytest.raises(tfport.Error, match="expected MLIR bytecode"):
        call(b"module {}", (X,), ["tensor<3x4xf32>"])
    broken = module_of("custom calls").replace(b"mhlo.erf", b"lapackxx")
    with pytest.raises(tfport.Error, match="no kernel for a call of lapackxx"):
        call(broken, (X,), ["tensor<3x4xf32>", "tensor<3x4xf32>"])


def test_inputs_that_do_not_fit_are_refused():
    with pytest.raises(tfport.RunFailed, match="takes 2 tensors, found 1"):
        call(module_of("add"), (X,), ["tensor<3x4xf32>"])


def test_a_module_gets_the_sizes_that_it_asks_for():
    """`case` takes the branch of a number: that of the first axis is beyond the last branch."""
    arrays = call(module_of("case"), (X,), ["tensor<3x4xf32>"], sizes=[b"0.0"])
    assert np.array_equal(arrays[0], X)


@pytest.mark.parametrize("shapes", [None, [(-1, 4)]])
def test_inputs_of_another_shape_are_refused(shapes):
    with pytest.raises(tfport.RunFailed, match=r"\(2, ?4\)|\[2, ?4\]"):
        call(module_of("softmax"), (X[:2],), ["tensor<3x4xf32>"], shapes=shapes)
    if shapes:
        assert call(module_of("softmax"), (X,), ["tensor<3x4xf32>"], shapes=shapes)[0].shape == (3, 4)


def test_the_model_is_not_changed():
    graph = module_graph(module_of("while"), PROGRAMS["while"][1], PROGRAMS["while"][2])
    model = tfport.load(graph.SerializeToString())
    session = tfport.Session(model)
    session.run("y:0", {f"x{i}:0": array for i, array in enumerate(PROGRAMS["while"][1])})
    assert not model.graph.library.functions
