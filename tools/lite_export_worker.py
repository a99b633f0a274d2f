# mypy: ignore-errors
"""Run TensorFlow Lite files on stored inputs, as `tools/lite_export_evidence.py` asks, in any Python.

The first argument is JSON: `{"trials": FILE, "original": …, "files": {side: path}}`. With `"tensorflow"` the
original answers first and TensorFlow's interpreter runs the files; else LiteRT does. With `"speed"` two
files run in turns on the first inputs, in one thread. The processor time of each run is measured, because
other work of the machine changes it less.
"""

import json
import pickle
import statistics
import sys
import time

import numpy as np

SECONDS, FEWEST, MOST, TURN = 3.0, 5, 400, 0.005
"""Of the processor for the runs of both files; turns of each; and of the processor for a turn, at least."""


def ask_original(tf, o):
    if o["kind"] == "keras":
        model = tf.keras.models.load_model(o["path"], compile=False)
        return lambda feeds: as_named(o["output_names"], model([feeds[k] for k in o["input_names"]]))
    if o["kind"] == "saved_model":
        loaded = tf.saved_model.load(o["path"])
        call = loaded.signatures[o["signature"]]
        return lambda feeds: {
            k: v.numpy() for k, v in call(**{k: tf.constant(v) for k, v in feeds.items()}).items()
        }
    graph = tf.compat.v1.GraphDef()
    if o["path"].endswith("pbtxt"):
        from google.protobuf import text_format

        with open(o["path"]) as file:
            text_format.Parse(file.read(), graph)
    else:
        with open(o["path"], "rb") as file:
            graph.ParseFromString(file.read())
    session = tf.compat.v1.Session(graph=tf.Graph())
    with session.graph.as_default():
        tf.import_graph_def(graph, name="")

    def ask(feeds):
        fed = {n + ":0": feeds[k] for n, k in zip(o["inputs"], o["input_names"], strict=True)}
        return dict(zip(o["output_names"], session.run([n + ":0" for n in o["outputs"]], fed), strict=True))

    return ask


def as_named(names, answers):
    answers = answers if isinstance(answers, list | tuple) else [answers]
    return {name: np.asarray(answer) for name, answer in zip(names, answers, strict=True)}


class LiteFile:
    """A file in an interpreter; inputs and outputs by the names of the original, or in their order."""

    def __init__(self, module, path, o, **options):
        with open(path, "rb") as file:
            self.content = file.read()
        self.interpreter = module.Interpreter(model_content=self.content, **options)
        signatures = self.interpreter.get_signature_list()
        if signatures:
            key, own = next(iter(signatures.items()))
            runner = self.interpreter.get_signature_runner(key)
            inputs, outputs = runner.get_input_details(), runner.get_output_details()
            self.inputs = _paired(o["input_names"], own["inputs"], inputs)
            self.outputs = _paired(o["output_names"], own["outputs"], outputs)
        else:
            inputs = {d["name"].split(":")[0]: d["index"] for d in self.interpreter.get_input_details()}
            outputs = [d["index"] for d in self.interpreter.get_output_details()]
            self.inputs = {name: inputs[n] for n, name in zip(o["inputs"], o["input_names"], strict=True)}
            self.outputs = dict(zip(o["output_names"], outputs, strict=True))

    def ask(self, feeds):
        self.prepare(feeds)
        self.run()
        return {name: self.interpreter.get_tensor(index) for name, index in self.outputs.items()}

    def prepare(self, feeds):
        """Resize and fill the inputs."""
        for name, index in self.inputs.items():
            self.interpreter.resize_tensor_input(index, feeds[name].shape)
        self.interpreter.allocate_tensors()
        for name, index in self.inputs.items():
            self.interpreter.set_tensor(index, feeds[name])

    def run(self):
        """Run once more on what was prepared."""
        self.interpreter.invoke()


def _paired(names, own, details):
    """The tensors of a signature by the original's names, which are the same or in the same order."""
    same = set(names) == set(own)
    return {name: details[name if same else other]["index"] for name, other in zip(names, own, strict=True)}


def differs(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return f"shape {a.shape}, expected {b.shape}"
    if b.dtype.kind not in "fc":
        a, b = (x.astype(object) if x.dtype.kind in "SU" else x for x in (a, b))
        return "" if (a == b).all() else "not equal"
    finite = np.isfinite(b)
    largest = np.abs(b[finite]).max(initial=0)
    apart = np.abs(a[finite] - b[finite])
    is_alike = (apart <= 1e-4 * largest + 1e-3 * np.abs(b[finite])).all()
    return "" if is_alike else f"by {apart.max():.3g} of {largest:.3g}"


def compare(job, trials, module, out):
    for side, path in job["files"].items():
        try:
            wrong = ""
            for feeds, expected in trials:
                answer = LiteFile(module, path, job["original"]).ask(feeds)
                found = (k + " " + d for k, b in expected.items() if (d := differs(answer[k], b)))
                wrong = wrong or next(found, "")
            out[side] = "differs: " + wrong if wrong else f"alike, {len(trials)} inputs"
        except Exception as error:
            out[side] = "fails: " + str(error)[:200]


def measure(job, trials, module, out):
    """The median processor time of a run of each file, in milliseconds."""
    feeds = trials[0][0]
    files = {
        side: LiteFile(module, path, job["original"], num_threads=1) for side, path in job["files"].items()
    }
    times = {side: [] for side in files}
    for file in files.values():
        file.prepare(feeds)
        file.run()
    began = time.thread_time()
    file.run()
    runs = max(1, int(TURN / max(time.thread_time() - began, 1e-6)))
    end = time.thread_time() + SECONDS
    for turn in range(MOST):
        if turn >= FEWEST and time.thread_time() > end:
            break
        for side, file in files.items():
            began = time.thread_time()
            for _ in range(runs):
                file.run()
            times[side].append((time.thread_time() - began) / runs)
    out.update({side: round(1000 * statistics.median(own), 5) for side, own in times.items()})
    out["runs"] = runs * len(times[side])


def answer(job):
    with open(job["trials"], "rb") as file:
        trials = pickle.load(file)
    out = {}
    if job["tensorflow"]:
        import tensorflow as tf

        module = tf.lite
        try:
            ask = ask_original(tf, job["original"])
            for feeds, expected in trials:
                first, second = ask(feeds), ask(feeds)
                expected.update({k: first[k] for k in expected if k in first})
                for k in list(expected):
                    if k in second and differs(first[k], second[k]):
                        del expected[k]
            with open(job["trials"], "wb") as file:
                pickle.dump(trials, file)
            out["original"] = "TensorFlow " + tf.__version__
        except Exception as error:
            out["original"] = "not run: " + str(error)[:200]
    else:
        from ai_edge_litert import interpreter as module
    (measure if job.get("speed") else compare)(job, trials, module, out)
    print("RESULT" + json.dumps(out))


if __name__ == "__main__":
    answer(json.loads(sys.argv[1]))
