"""An engine that has OpenVINO compute every node that it may, where `auto` gives it only stages that pay.

    TFPORT_TEST_DEVICE=openvino pytest tests/runtime/ops tests/runtime/layers

compares OpenVINO with the recorded answers of TensorFlow: to try another release of it, or another processor.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

import tfport
from tfport.runtime.engines.auto import AutoEngine
from tfport.runtime.engines.choice_cache import ChoiceCache
from tfport.runtime.engines.engine import Compiled, IslandHints
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.engines.openvino import OpenVino
from tfport.runtime.engines.openvino_nodes import COMPUTES, MOVES, may_run_elsewhere
from tfport.runtime.engines.same_answers import are_ordinary
from tfport.runtime.engines.shared_island import shared_island

EVERY_NODE = {"HEAVY": COMPUTES | MOVES | {"Cast", "Conv", "ConvTranspose", "Div", "Gather"}, "LEAST_PART": 0}


class AllElsewhere(AutoEngine):
    """Compiles islands for OpenVINO; ONNX Runtime answers first, and what OpenVINO may not."""

    def __init__(self) -> None:
        super().__init__(1, choices=ChoiceCache(None))

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, Any],
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints,
    ) -> Compiled:
        usual = OnnxRuntime(1)
        reference = usual.compile(model, weights, inputs, outputs, hints)
        with patch.multiple("tfport.runtime.onnx.island_shares", **EVERY_NODE):
            shares = hints.shares(may_run_elsewhere)
        shared = shared_island(shares, inputs, outputs, usual, OpenVino(1, only_fixed=True))

        def run(arrays: Sequence[Any]) -> Sequence[Any]:
            answers = reference(arrays)  # of sizes that ONNX Runtime refuses there is no race
            if not are_ordinary(arrays):
                return answers
            try:
                return shared(arrays)
            except tfport.Error:
                return answers

        return run


def session_elsewhere(model: Any) -> tfport.Session:
    return tfport.Session(model, engine=AllElsewhere())
