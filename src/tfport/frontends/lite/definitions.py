"""The ops that TensorFlow Lite has and TensorFlow does not: their inputs, outputs and attributes.

Their kernels are in `runtime.ops.lite`. An operator becomes one of these only where no TensorFlow op, or
short composition of them, computes the same.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from tfport.formats.proto.graph_pb2 import OpDef
from tfport.frontends.lite import quantized_definitions
from tfport.graph.op_signature import OpSignature, OpTable
from tfport.graph.op_spec import definition, pieces

TEXT = """
LiteHybridInput(x: float) -> y: float; asymmetric: bool = false; axis: int = 1
LiteSkipGram(x: string) -> y: string; ngram_size: int; max_skip_size: int; include_all_ngrams: bool
LiteLshProjection(hash: float, input: T, weight: float) -> y: int32; T: type; sparse: bool
LiteDetections(boxes: float, scores: float, anchors: float)
    -> detections: float, classes: float, best: float, count: float;
    max_detections: int; max_classes_per_detection: int; detections_per_class: int; use_regular_nms: bool;
    nms_score_threshold: float; nms_iou_threshold: float; num_classes: int; scales: list(float)
LiteLstm(x: float, weights: float, recurrent: float, bias: float, peephole: float, norm: float,
    projection: float, projection_bias: float, output_state: float, cell_state: float)
    -> y: float, last_output: float, last_cell: float; activation: string = "TANH"; cell_clip: float = 0.0;
    projection_clip: float = 0.0; rounding: string = ""
LiteEmbeddingLookupSparse(ids: int32, indices: int32, shape: int32, weights: float, table: float)
    -> y: float; combiner: string = "SUM"
LiteNonMaxSuppression(boxes: float, scores: float, most: int32, overlap: float, lowest: float, sigma: float)
    -> selected: int32, kept: float, count: int32
LiteRnn(x: float, weights: float, recurrent: float, bias: float, state: float) -> y: float, last: float;
    activation: string = "TANH"; rounding: string = ""
"""


@functools.cache
def lite_definitions() -> Mapping[str, OpDef]:
    """The definitions by name; each line is `Name(inputs) -> outputs; attribute; …`."""
    text = re.sub(r"\n +", " ", TEXT + quantized_definitions.TEXT)
    lines = (line for line in text.splitlines() if line.strip())
    return {made.name: made for made in map(_definition, lines)}


def _definition(line: str) -> OpDef:
    signature, *attrs = (text for _, text in pieces(line, ";"))
    head, _, outputs = signature.partition("->")
    name, _, inputs = head.strip().removesuffix(")").partition("(")
    stateful = "stateful" in attrs
    made = definition(
        name.strip(),
        [attr for attr in attrs if attr != "stateful"],
        [text for _, text in pieces(inputs, ",") if text],
        [text for _, text in pieces(outputs, ",") if text],
    )
    made.is_stateful = stateful
    return made


class LiteOpTable(OpTable):
    """The signatures of these ops and of TensorFlow's."""

    def get(self, op: str) -> OpSignature | None:
        own = lite_definitions().get(op)
        return super().get(op) if own is None else _signature(op)


@functools.cache
def _signature(op: str) -> OpSignature:
    return OpSignature(lite_definitions()[op])
