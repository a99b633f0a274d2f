"""Models that behave as those of TensorFlow Serving's published tests, for `tests/serve/published`.

TensorFlow Serving's own tests fake the session behind a classifier or regressor. Here, signatures return
what its fakes return: the features of the Examples, or outputs that do not fit.
"""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf
from tests.live.models_v1 import SERVE, saved_model, session, signature

v1 = tf.compat.v1
CLASSIFY, REGRESS = "tensorflow/serving/classify", "tensorflow/serving/regress"
X, X2 = tf.io.FixedLenFeature([1], tf.float32), tf.io.FixedLenFeature([1], tf.float32, [0.0])


def write(opened, out: Path, signatures, assets=None, **options):
    opened.run(v1.global_variables_initializer())
    builder = saved_model.Builder(str(out))
    builder.add_meta_graph_and_variables(opened, [SERVE], signatures, assets, **options)
    builder.save()


def half_plus(out: Path, increment: float):
    """y = x / 2 + increment from a fed (?, 1) tensor or from Examples; variables and an asset."""
    with session() as s:
        a, b, c = (
            v1.Variable(value, name=name) for name, value in zip("abc", (0.5, increment, 3.0), strict=True)
        )
        examples = v1.placeholder(tf.string, [None], name="tf_example")
        features = v1.io.parse_example(examples, {"x": X, "x2": X2})
        x, x2 = (tf.identity(features[name], name=name) for name in ("x", "x2"))
        y, y2, y3 = tf.add(a * x, b, name="y"), tf.add(a * x, c, name="y2"), tf.add(a * x2, c, name="y3")
        Path("foo.txt").write_text("the content of an asset")
        v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, tf.constant("foo.txt"))
        signatures = {
            "serving_default": signature({"x": x}, {"y": y}),
            "regress_x_to_y": signature({"inputs": examples}, {"outputs": y}, REGRESS),
            "regress_x_to_y2": signature({"inputs": examples}, {"outputs": y2}, REGRESS),
            "regress_x2_to_y3": signature({"inputs": x2}, {"outputs": y3}, REGRESS),
            "classify_x_to_y": signature({"inputs": examples}, {"scores": y}, CLASSIFY),
            "classify_x2_to_y3": signature({"inputs": x2}, {"scores": y3}, CLASSIFY),
        }
        write(s, out, signatures, v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS))


def half_plus_two(out: Path):
    half_plus(out, 2.0)


def half_plus_three(out: Path):
    half_plus(out, 3.0)


class HalfPlusTwo(tf.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (tf.Variable(v, name=n) for n, v in (("a", 0.5), ("b", 2.0), ("c", 3.0)))

    def function(self, output: str, increment: str, shape=(1,)):
        spec = tf.TensorSpec(shape, tf.float32, "x" if output == "y" else "inputs")
        return tf.function(lambda x: {output: self.a * x + getattr(self, increment)}, input_signature=[spec])

    def of_examples(self, output: str, increment: str):
        def line(examples):
            return {
                output: self.a * tf.io.parse_example(examples, {"x": X, "x2": X2})["x"]
                + getattr(self, increment)
            }

        return tf.function(line, input_signature=[tf.TensorSpec([None], tf.string, "inputs")])


def half_plus_two_tf2(out: Path):
    """The same as functions; the declared shape of the input is (1,)."""
    module = HalfPlusTwo()
    signatures = {
        "serving_default": module.function("y", "b"),
        "regress_x_to_y": module.of_examples("outputs", "b"),
        "regress_x_to_y2": module.of_examples("outputs", "c"),
        "regress_x2_to_y3": module.function("outputs", "c"),
        "classify_x_to_y": module.of_examples("scores", "b"),
        "classify_x2_to_y3": module.function("scores", "c"),
    }
    module.functions = list(signatures.values())
    tf.saved_model.save(module, str(out), signatures=signatures)


def counter(out: Path):
    """Signatures that change a variable: without inputs, and with one."""
    with session() as s:
        count = v1.get_variable("counter", initializer=0.0, use_resource=True)
        delta = v1.placeholder(tf.float32, [], name="delta")
        signatures = {
            "get_counter": signature({}, {"output": count.read_value()}),
            "incr_counter": signature({}, {"output": count.assign_add(1.0, read_value=True).read_value()}),
            "incr_counter_by": signature({"delta": delta}, {"output": count.assign_add(delta).read_value()}),
            "reset_counter": signature({}, {"output": count.assign(0.0).read_value()}),
        }
        write(s, out, signatures)


def classifier(out: Path):
    """Returns the features `class` and `score` of Examples, or outputs that are not a classification."""
    with session() as s:
        examples = v1.placeholder(tf.string, [None], name="input")
        features = v1.io.parse_example(
            examples,
            {
                "class": tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True),
                "score": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
            },
        )
        classes, scores = tf.identity(features["class"]), tf.identity(features["score"])
        failing = tf.debugging.Assert(tf.reduce_all(scores < 0), ["Run totally failed"])
        with tf.control_dependencies([failing]):
            failed = tf.identity(scores)
        labels, numbers = tf.fill([2, 2], "label"), tf.zeros([2, 2])

        def made(method=CLASSIFY, **outputs):
            return signature({"inputs": examples}, outputs, method)

        signatures = {
            "serving_default": made(classes=classes, scores=scores),
            "classes_only": made(classes=classes),
            "scores_only": made(scores=scores),
            "output_plus_one": made(classes=classes, scores=scores + 1),
            "regression": made(REGRESS, outputs=scores),
            "scores_of_rank_3": made(classes=classes, scores=tf.tile(scores[:, :, None], [1, 1, 10])),
            "empty": saved_model.build_signature_def({}, {}, ""),
            "run_fails": made(classes=classes, scores=failed),
            "one_row_of_classes": made(classes=labels[:1], scores=numbers),
            "classes_of_floats": made(classes=numbers, scores=numbers),
            "one_row_of_scores": made(classes=labels, scores=numbers[:1]),
            "scores_of_strings": made(classes=labels, scores=labels),
            "three_scores": made(classes=labels, scores=tf.zeros([2, 3])),
            "other_method": made("not/supported/method", classes=classes, scores=scores),
            "no_method": made("", classes=classes, scores=scores),
            "three_outputs": made(classes=classes, scores=scores, more=scores),
            "other_outputs": made(labels=classes, numbers=scores),
            "no_rows": made(classes=classes[:0], scores=scores[:0]),
        }
        write(s, out, signatures)


def regressor(out: Path):
    """Returns the feature `output` of Examples, or outputs that are not a regression."""
    with session() as s:
        examples = v1.placeholder(tf.string, [None], name="input")
        features = v1.io.parse_example(examples, {"output": tf.io.FixedLenFeature([], tf.float32)})
        outputs = tf.identity(features["output"])
        failing = tf.debugging.Assert(tf.reduce_all(outputs < 0), ["Run totally failed"])
        with tf.control_dependencies([failing]):
            failed = tf.identity(outputs)

        def made(method=REGRESS, **named):
            return signature({"inputs": examples}, named, method)

        signatures = {
            "serving_default": made(outputs=outputs),
            "output_plus_one": made(outputs=outputs[:, None] + 1),
            "classification": made(CLASSIFY, classes=outputs),
            "outputs_of_rank_3": made(outputs=tf.tile(outputs[:, None, None], [1, 1, 10])),
            "empty": saved_model.build_signature_def({}, {}, ""),
            "run_fails": made(outputs=failed),
            "two_outputs_per_example": made(outputs=tf.zeros([2])),
            "outputs_of_strings": made(outputs=tf.as_string(outputs)),
            "other_method": made("not/supported/method", outputs=outputs),
            "no_method": made("", outputs=outputs),
            "two_outputs": made(outputs=outputs, more=outputs),
        }
        write(s, out, signatures)


MODELS = [  # function              its file in the folder, or the folder itself
    (half_plus_two, ""),
    (half_plus_three, ""),
    (half_plus_two_tf2, ""),
    (counter, ""),
    (classifier, ""),
    (regressor, ""),
]
