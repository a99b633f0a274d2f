"""Find the operators of a .tflite file that tfport computes otherwise than a real interpreter.

    python tools/truth/lite/localize.py ENVIRONMENT MODEL.tflite [--way reference] [--limit 1e-5]

The interpreter runs the file with the inputs that answer.py recorded and keeps all tensors. Each operator of
the first subgraph is then run alone in tfport, with the interpreter's own inputs. Prints those whose outputs
differ.
"""

import argparse
import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from ask import outcomes
from compare import difference, plain

import tfport
from tfport.formats.lite.records import LiteFile, LiteOperator, Subgraph
from tfport.formats.lite.write import lite_bytes


def alone(file: LiteFile, operator: LiteOperator, values: dict[int, Any]) -> tuple[bytes, dict[str, Any]]:
    """A file of one operator, and the values of its inputs that are not constants."""
    main = file.subgraphs[0]
    tensors = copy.deepcopy(main.tensors)
    for index, tensor in enumerate(tensors):
        tensor.name, tensor.shape_signature = f"t{index}", ()
        if index in values:
            tensor.shape = values[index].shape
    fed = dict.fromkeys(i for i in operator.inputs if i >= 0 and not len(file.buffers[tensors[i].buffer]))
    graph = Subgraph("main", tensors, [operator], tuple(fed), operator.outputs)
    made = LiteFile("one", 3, "", [], [graph, *file.subgraphs[1:]], [], file.buffers, [])
    return lite_bytes(made), {f"t{i}": plain(values[i]) for i in fed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("environment", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--way", default="reference", choices=["reference", "plain"])
    parser.add_argument("--limit", type=float, default=1e-5)
    parser.add_argument("--engine", default="onnxruntime")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = f"{folder}/tensors.npz"
        inputs = str(options.model.with_suffix(".inputs.npz"))
        task = {"model": str(options.model), "way": options.way, "inputs": inputs, "tensors": kept}
        (outcome,) = outcomes(options.environment, [task])
        if not outcome["ok"]:
            raise SystemExit(json.dumps(outcome))
        with np.load(kept) as arrays:
            values = {int(name): arrays[name] for name in arrays}
    file = tfport.load(str(options.model)).lite
    assert file is not None
    for number, operator in enumerate(file.subgraphs[0].operators):
        try:
            content, feeds = alone(file, operator, values)
            answers = tfport.Session(tfport.load(content), engine=options.engine).signature(
                "serving_default"
            )(**feeds)
            apart = max(difference(answers[f"t{i}"], plain(values[i])) for i in operator.outputs)
        except Exception as error:
            print(number, operator.code.name, f"{type(error).__name__}: {error}"[:200])
            continue
        if apart > options.limit:
            print(number, operator.code.name, f"{apart:.3g} apart", dict(operator.options))


if __name__ == "__main__":
    main()
