"""Answer the inputs of `keras_saved_models.py` with the TensorFlow or the Keras of this environment.

    python keras_saved_models_answer.py tensorflow OUT      the SavedModels, by their signature
    python keras_saved_models_answer.py compiled OUT        the SavedModels, evaluated by Keras 2
    python keras_saved_models_answer.py TARGET OUT          the files written for a target

Several kinds of answers can be asked for at once, with commas, of several folders. With EVALUATE_ONLY=1 the
answers that are there stay, and compiled models are evaluated again.

It needs numpy and the package alone, and runs on the Pythons of old releases.
"""

import json
import os
import sys
import warnings

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
warnings.filterwarnings("ignore")


def main(kinds, *folders):
    for kind in kinds.split(","):
        for out in folders:
            answer(kind, out)


def answer(kind, out):
    with open(os.path.join(out, "written.json")) as file:
        rows = [row for row in json.load(file) if "inputs" in row]
    runtime, ask, evaluate = with_tensorflow() if kind == "tensorflow" else with_keras(kind)
    facts = {"runtime": runtime, "problems": {}, "evaluated": {}}
    only_evaluated = kind == "compiled" or bool(os.environ.get("EVALUATE_ONLY"))
    if only_evaluated and kind != "compiled":
        with open(os.path.join(out, kind + ".json")) as file:
            facts["problems"] = json.load(file)["problems"]
    for row in rows:
        kept = [file for file in row["files"].values() if file.get("training") == "kept"]
        file = row["files"].get(kind) or (kept or [{"outcome": "written", "training": ""}])[0]
        if file["outcome"] != "written" or (kind == "compiled" and not kept):
            continue
        try:
            trials = [inputs(row, number) for number in range(len(row["inputs"]))]
            for number, answers in enumerate(ask(row, trials) if not only_evaluated else ()):
                path = os.path.join(row["folder"], f"{kind}-{number}.npz")
                np.savez(path, **{name: as_stored(value) for name, value in answers.items()})
        except Exception as error:
            facts["problems"][row["folder"]] = f"{type(error).__name__}: {str(error)[:600]}"
            print(row["name"], facts["problems"][row["folder"]], flush=True)
        if file["training"] == "kept" and evaluate is not None and trials:
            try:
                facts["evaluated"][row["folder"]] = evaluate(row, trials[0])
            except Exception as error:
                facts["evaluated"][row["folder"]] = f"{type(error).__name__}: {str(error)[-300:]}"
                print(row["name"], "compiled:", facts["evaluated"][row["folder"]], flush=True)
    with open(os.path.join(out, kind + ".json"), "w") as file:
        json.dump(facts, file, indent=1)


def inputs(row, number):
    with np.load(os.path.join(row["folder"], f"inputs-{number}.npz")) as stored:
        arrays = {name: stored[str(i)] for i, name in enumerate(row["inputs"][number])}
    return {name: a.astype(object) if a.dtype.kind == "S" else a for name, a in arrays.items()}


def as_stored(value):
    array = np.asarray(value)
    if array.dtype.name == "bfloat16":
        return array.astype("float32")
    if array.dtype.kind in "OU":
        return np.array([v.encode() if isinstance(v, str) else bytes(v) for v in array.ravel()], "S").reshape(
            array.shape
        )
    return array


def with_tensorflow():
    import tensorflow as tf

    def ask(row, trials):  # in a session: the object loader refuses the optimizers of some releases
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            meta = tf.compat.v1.saved_model.load(session, ["serve"], row["model"])
            signature = meta.signature_def["serving_default"]
            fetched = {name: signature.outputs[old].name for name, old in row["output_names"].items()}
            for arrays in trials:
                fed = {signature.inputs[row["input_names"][n]].name: array for n, array in arrays.items()}
                yield session.run(fetched, fed)

    return "tensorflow " + tf.__version__, ask, None


def with_keras(target):
    try:
        import keras
    except ImportError:
        import tensorflow

        keras = tensorflow.keras
    version = keras.__version__
    three = version.startswith("3")
    if not three:
        import tensorflow

        keras = tensorflow.keras
    backend = keras.config.backend() if three else "tensorflow " + tensorflow.__version__

    def ask(row, trials):
        model = keras.models.load_model(row["files"][target]["file"], compile=False)
        for arrays in trials:
            names = in_order(arrays, model, "input")
            fed = [tensor(arrays[name]) for name in names]
            values = model(fed[0] if len(fed) == 1 else fed, training=False)
            yield named(values, model, list(row["output_names"]))

    def evaluate(row, arrays):
        model = keras.models.load_model(
            row["model"] if target == "compiled" else row["files"][target]["file"]
        )
        if not getattr(model, "compiled_loss", None) and not getattr(model, "compiled", True):
            raise ValueError("not compiled")
        names = in_order(arrays, model, "input")
        fed = [tensor(arrays[name]) for name in names]
        values = model(fed[0] if len(fed) == 1 else fed, training=False)
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        loss = json.dumps(model.loss, default=lambda other: getattr(other, "__name__", type(other).__name__))
        wanted = [labels(np.asarray(value), loss) for value in values]
        fed = [arrays[name] if three else tensor(arrays[name]) for name in names]
        found = model.evaluate(
            fed[0] if len(fed) == 1 else fed,
            wanted[0] if len(wanted) == 1 else wanted,
            batch_size=len(wanted[0]),
            verbose=0,
            return_dict=True,
        )
        return {name: float(value) for name, value in found.items()}

    def tensor(array):
        if three and array.dtype.kind != "O":
            return keras.ops.convert_to_tensor(array)
        import tensorflow as tf

        return tf.constant(array)

    return f"keras {version} on {backend}", ask, evaluate


def labels(values, loss):
    """What a model should have answered, by the shape of its answers and its loss."""
    random = np.random.RandomState(0)
    if "sparse" in loss.lower():
        return random.randint(0, values.shape[-1], values.shape[:-1])
    if "crossentropy" in loss.lower():
        chosen = random.randint(0, max(values.shape[-1], 2), values.shape[:-1])
        return (chosen[..., None] == np.arange(values.shape[-1])).astype("float32")
    return random.uniform(size=values.shape).astype("float32")


def named(values, model, wanted):
    if isinstance(values, dict):
        return {name: np.asarray(value) for name, value in values.items()}
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    names = in_order(wanted, model, "output")
    return {name: np.asarray(value) for name, value in zip(names, values)}  # noqa: B905


def in_order(wanted, model, kind):
    names = getattr(model, kind + "_names", None)
    if not names:
        names = [tensor.name.split(":")[0] for tensor in getattr(model, kind + "s")]
    # several outputs of one layer are numbered in signatures
    names = [
        name if names[:i].count(name) == 0 else f"{name}_{names[:i].count(name)}"
        for i, name in enumerate(names)
    ]
    if sorted(names) != sorted(wanted) and len(names) > 1:
        raise ValueError(f"{kind}s {names} instead of {list(wanted)}")
    return names if sorted(names) == sorted(wanted) else list(wanted)


if __name__ == "__main__":
    main(*sys.argv[1:])
