"""An engine that has OpenVINO or LiteRT compute every node that it may; `auto` gives it only stages that pay.

    TFPORT_TEST_DEVICE=openvino pytest tests/runtime/ops tests/runtime/passes/programs

compares OpenVINO with the recorded answers of TensorFlow: to try another release of it, or another processor;
`TFPORT_TEST_DEVICE=litert` compares LiteRT.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

import tfport
from tfport.runtime.engines.auto import OTHERS, AutoEngine
from tfport.runtime.engines.choice_cache import ChoiceCache
from tfport.runtime.engines.engine import Compiled, IslandHints, Sizes
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.engines.openvino_nodes import COMPUTES, MOVES
from tfport.runtime.engines.same_answers import are_ordinary
from tfport.runtime.engines.shared_island import shared_island

EVERY_NODE = {"HEAVY": COMPUTES | MOVES | {"Cast", "Conv", "ConvTranspose", "Div", "Gather"}, "LEAST_PART": 0}


class AllElsewhere(AutoEngine):
    """Compiles islands for another engine; ONNX Runtime answers first, and what the other may not."""

    def __init__(self, name: str) -> None:
        super().__init__(1, choices=ChoiceCache(None))
        self.other = OTHERS[name]

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

        @functools.cache
        def shared(sizes: Sizes) -> Compiled:
            with patch.multiple("tfport.runtime.passes.islands.island_parts", **EVERY_NODE):
                shares = hints.shares(self.other.nodes(), self.other.forms, sizes)
            return shared_island(shares, inputs, outputs, usual, self.other.create(1))

        def run(arrays: Sequence[Any]) -> Sequence[Any]:
            answers = reference(arrays)  # of sizes that ONNX Runtime refuses there is no race
            if not are_ordinary(arrays):
                return answers
            try:
                return shared(tuple(array.shape for array in arrays))(arrays)
            except tfport.Error:
                return answers

        return run


def session_elsewhere(model: Any, name: str) -> tfport.Session:
    return tfport.Session(model, engine=AllElsewhere(name))
