"""What `onnx_export_evidence.py` asks of other Pythons: inputs, a reference, and runs of ONNX files.

    python onnx_export_worker.py MODULE… < jobs

Imports the modules once. Each job is a line of JSON, a name and its arguments, and runs in a process of its
own that is forked; a line of JSON answers it.

    inputs PATH TRIALS              with tfport: the signature, inputs and answers
    reference KIND PATH TRIALS      with TensorFlow: its answers in place of those
    check FILE TRIALS               with onnx, ONNX Runtime and OpenVINO
    torch FILE TRIALS               with onnx2torch

Runs answer the largest difference, relative to the largest number of an output, or what went wrong.
"""

import importlib
import json
import os
import pathlib
import signal
import sys
import time

import numpy as np

INPUTS = 10
SMALL = 1e-3
"""Smaller outputs, such as probabilities of nearly 0, are compared as if this were their largest number."""
ENGINES = {".json": "none", ".tflite": "litert"}
"""Of the reference for formats that TensorFlow does not load: host kernels, or LiteRT's interpreter."""
SECONDS_A_RUN = 120
SECONDS_TO_FIND, SECONDS_A_JOB = 90, 400
"""Of the processor."""


def trials_of(path):
    data = dict(np.load(path))
    names = json.loads(str(data.pop("names")))
    return names, data


def inputs(path, trials):
    """Write inputs that a model accepts, and tfport's answers; the ends that converters need."""
    import tfport
    from tfport.fix.certify.inputs.arrays import ORDINARY
    from tfport.fix.certify.trials import TrialBuilder
    from tfport.runtime.select_signature import select_signature

    model = tfport.load(path)
    known = list(model.signatures)
    chosen = select_signature(model, known[0] if known and "serving_default" not in known else None)
    feeds = {name: spec.tensors[0] for name, spec in chosen.inputs.items()}
    fetches = {name: spec.tensors[0] for name, spec in chosen.outputs.items()}
    answer = {"signature": chosen.name if known else "", "feeds": feeds, "fetches": fetches}
    try:
        # TensorFlow answers for formats without an engine here
        session = tfport.Session(model, engine=ENGINES.get(pathlib.Path(path).suffix, "onnxruntime"))
        kept = write_trials(session, TrialBuilder(model, chosen), answer, ORDINARY, trials)
    except tfport.Error as error:
        return {**answer, "problem": str(error)[:300]}
    return {**answer, "inputs": kept}


def write_trials(session, builder, ends, profile, trials):
    """Write inputs and answers; how many there are."""
    import tfport

    feeds, fetches = ends["feeds"], list(ends["fetches"].values())
    usual, unusual = builder.sizings()
    until, first, why = time.process_time() + SECONDS_TO_FIND, None, "no sizes"
    for sizing in [*usual, *unusual]:
        candidate = builder.trial(sizing, profile).inputs
        try:
            session.run(fetches, {feeds[n]: a for n, a in candidate.items()}, timeout=SECONDS_A_RUN)
            first = candidate
            break
        except tfport.Error as error:
            why = str(error)
        if time.process_time() > until:
            break
    if first is None:
        raise tfport.Error(f"no inputs: {why}")
    draws = [np.random.default_rng(seed) for seed in range(INPUTS - 1)]
    others = [{name: redrawn(array, draw) for name, array in first.items()} for draw in draws]
    arrays, kept = {}, 0
    for trial in [first, *others]:
        try:
            answers = session.run(fetches, {feeds[n]: a for n, a in trial.items()}, timeout=SECONDS_A_RUN)
        except tfport.Error:
            continue
        for index, name in enumerate(feeds):
            arrays[f"{kept}/in/{index}"] = plain(trial[name])
        for index, answer in enumerate(answers):
            arrays[f"{kept}/out/{index}"] = plain(answer)
        kept += 1
    np.savez(trials, names=np.array(json.dumps({**ends, "count": kept})), **arrays)
    return kept


def redrawn(array, draw):
    """Other values of the same shape and type."""
    if array.dtype.kind == "f":
        return draw.standard_normal(array.shape).astype(array.dtype)
    return draw.permutation(array.reshape(-1)).reshape(array.shape)


def plain(array):
    """Strings as bytes of one length, which a file has without pickle."""
    return np.asarray(array, "S") if np.asarray(array).dtype.kind == "O" else np.asarray(array)


def reference(kind, path, trials):
    import tensorflow as tf

    names, data = trials_of(trials)
    if kind == "keras":
        return keras_reference(path, trials, names, data)
    signature = names["signature"]
    v1 = tf.compat.v1
    with v1.Session(graph=tf.Graph()) as session:
        if kind == "saved_model":
            from tensorflow.python.saved_model import loader_impl

            metas = loader_impl.parse_saved_model(path).meta_graphs
            tags = next(m.meta_info_def.tags for m in metas if signature in m.signature_def or not signature)
            v1.saved_model.load(session, list(tags), path)
        else:
            graph = v1.GraphDef()
            if path.endswith("pbtxt"):
                from google.protobuf import text_format

                text_format.Parse(pathlib.Path(path).read_text(), graph)
            else:
                graph.ParseFromString(pathlib.Path(path).read_bytes())
            tf.import_graph_def(graph, name="")
        feeds, fetches = list(names["feeds"].values()), list(names["fetches"].values())
        for number in range(names["count"]):
            fed = {}
            for index, tensor in enumerate(feeds):
                array = data[f"{number}/in/{index}"]
                fed[tensor] = array.astype(object) if array.dtype.kind == "S" else array
            for index, answer in enumerate(session.run(fetches, fed)):
                answer = np.asarray(answer)
                data[f"{number}/out/{index}"] = answer.astype("S") if answer.dtype == object else answer
    np.savez(
        trials, names=np.array(json.dumps({**names, "reference": f"tensorflow {tf.__version__}"})), **data
    )
    return {"reference": tf.__version__}


def keras_reference(path, trials, names, data):
    """The answers of the Keras that TensorFlow has, or of tf-keras for files that only Keras 2 loads."""
    import keras

    try:
        model = keras.models.load_model(path, compile=False)
    except Exception:
        import tf_keras as keras

        model = keras.models.load_model(path, compile=False)
    named = [tensor.name.partition(":")[0] for tensor in model.inputs]
    known = list(names["feeds"])
    order = [known.index(name) for name in named] if set(named) == set(known) else range(len(known))
    for number in range(names["count"]):
        given = [data[f"{number}/in/{index}"] for index in order]
        answers = model(given if len(given) > 1 else given[0], training=False)
        for index, answer in enumerate(answers if isinstance(answers, (list, tuple)) else [answers]):
            data[f"{number}/out/{index}"] = np.asarray(answer)
    by = f"{keras.__name__} {keras.__version__}"
    np.savez(trials, names=np.array(json.dumps({**names, "reference": by})), **data)
    return {"reference": by}


def difference(actual, expected):
    """The largest difference relative to the largest number or `SMALL`; None for another shape or type."""
    actual = np.asarray(actual)
    if expected.dtype.kind == "S":
        texts = [t.encode() if isinstance(t, str) else bytes(t) for t in actual.reshape(-1).tolist()]
        return 0.0 if actual.shape == expected.shape and texts == expected.reshape(-1).tolist() else None
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return None
    if not expected.size:
        return 0.0
    a, b = (x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in (actual, expected))
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return None
    a, b = a[np.isfinite(b)], b[np.isfinite(b)]
    return float(np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(b), initial=0), SMALL))


def as_text(array):
    """Strings as the runtimes take them."""
    if array.dtype.kind != "S":
        return array
    texts = np.array([text.decode() for text in array.reshape(-1).tolist()], object)
    return texts.reshape(array.shape)


def matched(names, own):
    """For each name in a file the index of the input or output of the signature."""
    tensors, keys = list(names.values()), list(names)
    found = {}
    for position, name in enumerate(own):
        bare = name.partition(":")[0]
        plain = [tensor.partition(":")[0] for tensor in tensors]
        if name in keys:
            found[name] = keys.index(name)
        elif name in tensors:
            found[name] = tensors.index(name)
        elif bare in plain and plain.count(bare) == 1:
            found[name] = plain.index(bare)
        elif bare in keys:
            found[name] = keys.index(bare)
        else:
            found[name] = position
    return found


def worst(trials, inputs, outputs, run):
    """The largest difference of all trials; `run` takes inputs by name."""
    names, data = trials_of(trials)
    into, out = matched(names["feeds"], inputs), matched(names["fetches"], outputs)
    largest = 0.0
    for number in range(names["count"]):
        feeds = {name: data[f"{number}/in/{index}"] for name, index in into.items()}
        answers = run({name: as_text(array) for name, array in feeds.items()})
        for name, answer in zip(outputs, answers, strict=True):
            apart = difference(answer, data[f"{number}/out/{out[name]}"])
            if apart is None:
                expected = data[f"{number}/out/{out[name]}"]
                answer = np.asarray(answer)
                return (
                    f"`{name}` differs: {answer.dtype}{list(answer.shape)}, "
                    f"expected {expected.dtype}{list(expected.shape)}"
                )
            largest = max(largest, apart)
    return largest


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:  # each library raises its own
        lines = [line for line in f"{type(error).__name__}: {error}".splitlines() if line.strip()]
        return " ".join(lines)[:300]


def check(file, trials):
    return {
        "checker": apart(checker, file),
        "onnxruntime": apart(onnx_runtime, file, trials),
        "openvino": apart(open_vino, file, trials),
    }


def checker(file):
    import onnx

    onnx.checker.check_model(file, full_check=True)
    return 0.0


def onnx_runtime(file, trials):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    inputs = [i.name for i in session.get_inputs()]
    outputs = [o.name for o in session.get_outputs()]
    return worst(trials, inputs, outputs, lambda feeds: session.run(outputs, feeds))


def open_vino(file, trials):
    import onnx
    import openvino

    graph = onnx.load(file, load_external_data=False).graph
    weights = {i.name for i in graph.initializer}
    inputs = [i.name for i in graph.input if i.name not in weights]
    outputs = [o.name for o in graph.output]
    settings = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.compile_model(openvino.Core().read_model(file), "CPU", settings)

    def run(feeds):
        answers = compiled({inputs.index(name): array for name, array in feeds.items()})
        return [answers[index] for index in range(len(outputs))]

    return worst(trials, inputs, outputs, run)


def torch(file, trials):
    return {"onnx2torch": attempt(onnx2torch, file, trials)}


def onnx2torch(file, trials):
    import onnx
    import torch
    from onnx2torch import convert

    model = onnx.load(file)
    weights = {i.name for i in model.graph.initializer}
    inputs = [i.name for i in model.graph.input if i.name not in weights]
    outputs = [o.name for o in model.graph.output]
    module = convert(model).eval()

    def run(feeds):
        with torch.no_grad():
            answers = module(*(torch.from_numpy(np.array(feeds[name])) for name in inputs))
        return [a.numpy() for a in (answers if isinstance(answers, (tuple, list)) else [answers])]

    return worst(trials, inputs, outputs, run)


def apart(function, *arguments):
    """The answer of a function in a process of its own, because a runtime may crash."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        signal.setitimer(signal.ITIMER_PROF, SECONDS_A_JOB)
        with os.fdopen(writing, "w") as pipe:
            json.dump(attempt(function, *arguments), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else f"ended with status {status}"


def answer(job):
    """The answer to a job, from forked processes."""
    action, *arguments = job
    result = ACTIONS[action](*arguments) if action == "check" else apart(ACTIONS[action], *arguments)
    return result if isinstance(result, dict) else {"problem": result}


ACTIONS = {"inputs": inputs, "reference": reference, "check": check, "torch": torch}

if __name__ == "__main__":
    for module in sys.argv[1:]:
        importlib.import_module(module)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
