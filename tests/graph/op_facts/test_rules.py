"""Shape rules never contradict TensorFlow's answers to the cases of `tests/runtime/ops`."""

import pytest
from tests.recorded_models import OPS
from tests.runtime.answers import recorded_answers
from tests.runtime.cases import cases_of, families

from tfport.graph.build import graph_from_def
from tfport.graph.infer_shapes import infer_shapes
from tfport.graph.op_facts.compared import COMPARED
from tfport.graph.op_facts.kinds import ALIKE, BROADCASTING, OTHER_REDUCTIONS, PASSING, REDUCTIONS, UNARY
from tfport.graph.op_facts.rule import RULES
from tfport.graph.shapes import Shape

OWN_CONTRADICTIONS = ("DecodeJpeg", "DecodePng", "DecodeBmp", "FusedBatchNormGrad")
"""Ops whose kernels contradict TensorFlow's own shape functions: frames of a GIF, empty reserves."""


@pytest.mark.parametrize("family", families())
def test_a_rule_never_contradicts_an_answer(family):
    answers = recorded_answers(family)
    for c in cases_of(family):
        answer = answers.get(c.name)
        if isinstance(answer, list) and not c.text and not c.op.startswith(OWN_CONTRADICTIONS):
            for way in ("fed", "static"):
                assert contradictions(c, way, answer) == []


MOVING = """
    BatchToSpace BatchToSpaceND BroadcastTo Concat ConcatV2 DepthToSpace EnsureShape ExpandDims Gather
    GatherNd GatherV2 Identity Pack Reshape Reverse ReverseSequence ReverseV2 Roll Slice Snapshot SpaceToBatch
    SpaceToBatchND SpaceToDepth Split SplitV Squeeze StopGradient StridedSlice Tile Transpose Unpack
"""


def contradictions(c, way, answer):
    graph = graph_from_def(c.model(way)[0], OPS)
    inferred = infer_shapes(graph)
    shapes = [inferred.shape(graph["node"].output(index)) for index in range(len(answer))]
    pairs = [(shape, array.shape) for shape, array in zip(shapes, answer, strict=True) if array is not None]
    return [(str(c), way, shape, actual) for shape, actual in pairs if not shape.fits(Shape(actual))]


def test_every_op_of_a_kind_has_a_rule_and_no_op_has_two():
    kinds = UNARY | BROADCASTING | ALIKE | PASSING | set(f"{REDUCTIONS} {OTHER_REDUCTIONS} {MOVING}".split())
    declared = [*COMPARED, *RULES.names()]
    assert kinds <= set(declared)
    assert len(declared) == len(set(declared))
