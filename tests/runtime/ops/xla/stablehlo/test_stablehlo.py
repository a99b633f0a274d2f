"""StableHLO programs in XlaCallModule, compared with the answers of `tests.live.record_stablehlo`."""

import numpy as np
import pytest
from tests.runtime.answers import recorded_answers
from tests.runtime.ops.xla.stablehlo.programs import KINDS, PROGRAMS, VERSIONS, X

import tfport
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.dtypes import DType


def result_types(kinds):
    return [DType.parse(KINDS[kind[7:-1].split("x")[-1]]) for kind in kinds]


def module_graph(module, inputs, kinds, platforms=(b"CPU",)):
    """A graph with the module in one node, `y`."""
    made = pb.GraphDef()
    made.versions.producer = 2474
    node = pb.NodeDef(name="y", op="XlaCallModule")
    for i, array in enumerate(inputs):
        placeholder = made.node.add(name=f"x{i}", op="Placeholder")
        placeholder.attr["dtype"].type = DType.parse(array.dtype.name).number
        placeholder.attr["shape"].shape.SetInParent()
        for n in array.shape:
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
