"""Models as TensorFlow 1 programs wrote them: graphs, sessions, Savers and SavedModelBuilders.

Each function writes one model into the folder it is given. `models.MODELS` names them.
Files that a model refers to are written to the current folder, so that no path of the
machine gets into the graph.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import function_pb2
from tensorflow.python.framework import function as legacy_function

v1 = tf.compat.v1
saved_model = v1.saved_model
SERVE, TRAIN = saved_model.tag_constants.SERVING, saved_model.tag_constants.TRAINING


@contextmanager
def session(control_flow_v2=False, **config):
    """Open a TF1 session with its own graph; loops and conditions become Enter, Switch and Merge."""
    (v1.enable_control_flow_v2 if control_flow_v2 else v1.disable_control_flow_v2)()
    v1.disable_tensor_equality()
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(1)
        with v1.Session(graph=graph, config=v1.ConfigProto(**config)) as opened:
            yield opened


def ramp(*shape, dtype=np.float32):
    """Return 0, 1, 2, … in this shape: all values differ."""
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def info(**tensors):
    return {name: saved_model.build_tensor_info(tensor) for name, tensor in tensors.items()}


def signature(inputs, outputs, method="tensorflow/serving/predict"):
    return saved_model.build_signature_def(info(**inputs), info(**outputs), method)


def dense(x, width, **variable):
    w = v1.get_variable("w", initializer=ramp(x.shape[-1], width), **variable)
    b = v1.get_variable("b", initializer=ramp(width), **variable)
    return tf.matmul(x, w) + b


def train(optimizer, loss):
    step = v1.train.get_or_create_global_step()
    return optimizer.minimize(loss, global_step=step, name="train")


def save(opened, out, **saver):
    out.mkdir()
    opened.run(v1.global_variables_initializer())
    v1.train.Saver(**saver).save(opened, str(out / "model.ckpt"))


def ref_variables(out: Path):
    """VariableV2 and Assign, Momentum slots, collections, and a Saver."""
    with session() as s:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        y = tf.identity(dense(x, 3, use_resource=False), name="y")
        train(v1.train.MomentumOptimizer(0.1, 0.9), tf.reduce_mean(y))
        v1.summary.scalar("mean", tf.reduce_mean(y))
        v1.add_to_collection("outputs", y)
        save(s, out)


def resource_variables(out: Path):
    """VarHandleOp, Adam slots, a name scope and a control dependency."""
    with session() as s:
        x = v1.placeholder(tf.float32, [4, 2], name="x")
        with v1.variable_scope("layer"):
            y = tf.nn.relu(dense(x, 2, use_resource=True), name="y")
        with tf.control_dependencies([train(v1.train.AdamOptimizer(0.1), tf.reduce_sum(y))]):
            tf.identity(y, name="after")
        save(s, out)


def partitioned_variables(out: Path):
    """One matrix in three parts, one of them smaller."""
    with session() as s, v1.variable_scope("p", partitioner=v1.fixed_size_partitioner(3)):
        table = v1.get_variable("table", [7, 2], initializer=v1.zeros_initializer(), use_resource=False)
        ids = v1.placeholder(tf.int64, [None], name="ids")
        v1.nn.embedding_lookup(table, ids, partition_strategy="div", name="rows")
        s.run([part.initializer for part in table])
        s.run([v1.assign(part, ramp(*part.shape) + 10 * i) for i, part in enumerate(table)])
        out.mkdir()
        v1.train.Saver().save(s, str(out / "model.ckpt"))


def sharded_checkpoint(out: Path):
    """Two devices, so two shards, and device strings on the nodes."""
    with session(device_count={"CPU": 2}) as s:
        for i in range(2):
            with tf.device(f"/job:localhost/replica:0/task:0/device:CPU:{i}"):
                v1.get_variable(f"v{i}", initializer=ramp(2, 2) + i, use_resource=False)
        save(s, out, sharded=True)


def first_checkpoint_format(out: Path):
    """The format before the tensor bundle: one file, `Saver(write_version=V1)`."""
    with session() as s:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        v1.get_variable("n", initializer=np.int64(7), use_resource=False)
        tf.identity(dense(x, 2, use_resource=False), name="y")
        save(s, out, write_version=v1.train.SaverDef.V1)


def parsed_features():
    examples = v1.placeholder(tf.string, [None], name="examples")
    spec = {"x": tf.io.FixedLenFeature([2], tf.float32), "word": tf.io.VarLenFeature(tf.string)}
    return examples, tf.io.parse_example(examples, spec)


def estimator_signatures(examples, scores):
    words = tf.as_string(scores)
    classify = signature(
        {"inputs": examples}, {"classes": words, "scores": scores}, "tensorflow/serving/classify"
    )
    regress = signature({"inputs": examples}, {"outputs": scores[:, 0]}, "tensorflow/serving/regress")
    predict = signature({"examples": examples}, {"scores": scores, "words": words})
    return {"serving_default": classify, "regression": regress, "predict": predict}


def estimator(out: Path):
    """Two MetaGraphs, three methods, a table over an asset, and a main op: what Estimators exported."""
    Path("words.txt").write_text("alpha\nbeta\ngamma\n")
    builder = saved_model.Builder(str(out))
    for tags in ([SERVE], [TRAIN, "cpu"]):
        with session() as s:
            examples, features = parsed_features()
            table = tf.lookup.StaticVocabularyTable(
                tf.lookup.TextFileInitializer(
                    v1.constant("words.txt", name="words"),
                    tf.string,
                    tf.lookup.TextFileIndex.WHOLE_LINE,
                    tf.int64,
                    tf.lookup.TextFileIndex.LINE_NUMBER,
                ),
                num_oov_buckets=1,
            )
            ids = tf.sparse.to_dense(table.lookup(features["word"]))
            scores = dense(features["x"], 3, use_resource=True) + tf.reduce_sum(tf.cast(ids, tf.float32))
            s.run([v1.global_variables_initializer()])
            common = {
                "signature_def_map": estimator_signatures(examples, scores),
                "assets_collection": v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
                "main_op": v1.tables_initializer(name="init_all_tables"),
                "strip_default_attrs": True,
            }
            if tags == [SERVE]:
                builder.add_meta_graph_and_variables(s, tags, **common)
            else:
                builder.add_meta_graph(tags, **common)
    builder.save()


def legacy_init(out: Path):
    """`legacy_init_op`, ref variables, and a `saved_model.pbtxt`."""
    with session() as s:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        y = dense(x, 2, use_resource=False)
        counter = v1.get_variable("counter", initializer=np.int32(0), use_resource=False, trainable=False)
        ready = v1.assign(counter, 1, name="legacy")
        v1.add_to_collection(saved_model.constants.LEGACY_INIT_OP_KEY, ready.op)
        s.run(v1.global_variables_initializer())
        builder = saved_model.Builder(str(out))
        builder.add_meta_graph_and_variables(s, [SERVE], {"serving_default": signature({"x": x}, {"y": y})})
        builder.save(as_text=True)


def simple_save(out: Path):
    """A sparse input, a scalar of unknown rank, and strings, by `simple_save`."""
    with session() as s:
        words = v1.sparse_placeholder(tf.string, name="words")
        weight = v1.placeholder(tf.float32, name="weight")
        scale = v1.get_variable("scale", initializer=np.float32(3), use_resource=True)
        lengths = tf.strings.length(words.values, unit="UTF8_CHAR")
        y = tf.cast(lengths, tf.float32) * scale * weight
        s.run(v1.global_variables_initializer())
        lower = tf.SparseTensor(words.indices, tf.strings.lower(words.values), words.dense_shape)
        saved_model.simple_save(s, str(out), {"words": words, "weight": weight}, {"y": y, "lower": lower})


def write_graph(graph, out: Path, *, text=False):
    out.mkdir()
    tf.io.write_graph(graph, str(out), "graph.pbtxt" if text else "graph.pb", as_text=text)


def loops(out: Path):
    """A while loop in a while loop with a condition inside: Enter, NextIteration, Switch, Merge."""
    with session() as s:
        x = v1.placeholder(tf.float32, [], name="x")

        def inner(total):
            return v1.while_loop(lambda i, t: i < 2, lambda i, t: (i + 1, t * x), [0, total], name="inner")[1]

        def body(i, total):
            return i + 1, v1.cond(total > 10.0, lambda: total, lambda: inner(total))

        y = v1.while_loop(lambda i, _: i < 3, body, [0, x], parallel_iterations=1, name="outer")[1]
        tf.identity(tf.gradients(y, x)[0], name="slope")
        write_graph(s.graph, out)


def functional_loops(out: Path):
    """The same as While, If and Case nodes that call functions, in a plain GraphDef."""
    with session(control_flow_v2=True) as s:
        x = v1.placeholder(tf.float32, [], name="x")
        y = v1.while_loop(lambda i, _: i < 3, lambda i, t: (i + 1, t * x), [0, x], name="loop")[1]
        z = v1.cond(y > 1.0, lambda: y, lambda: -y, name="choice")
        tf.switch_case(tf.cast(x, tf.int32), [lambda: z, lambda: z + 1, lambda: z * 2], name="case")
        write_graph(s.graph, out)


def tensor_arrays(out: Path):
    """TensorArrayV3 in a loop, and the stacks that its gradient needs; as text."""
    with session() as s:
        x = v1.placeholder(tf.float32, [4, 2], name="x")
        y = v1.scan(lambda total, row: total + row * row, x, name="scan")
        tf.identity(tf.gradients(y, x)[0], name="slope")
        write_graph(s.graph, out, text=True)


def frozen(out: Path, *, text=False):
    """Variables folded into constants, as `convert_variables_to_constants` did."""
    with session() as s:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        tf.nn.softmax(dense(x, 3, use_resource=False), name="y")
        s.run(v1.global_variables_initializer())
        write_graph(v1.graph_util.convert_variables_to_constants(s, s.graph_def, ["y"]), out, text=text)


def frozen_text(out: Path):
    """The same as text."""
    frozen(out, text=True)


def defun(out: Path):
    """Functions with a gradient function, from before `tf.function`."""

    @legacy_function.Defun(tf.float32, tf.float32, func_name="SquareItGrad")
    def square_grad(x, dy):
        return 2.0 * x * dy

    @legacy_function.Defun(tf.float32, func_name="SquareIt", grad_func=square_grad)
    def square(x):
        return x * x

    @legacy_function.Defun(tf.float32, func_name="Twice")
    def twice(x):
        return square(square(x))

    with session() as s:
        x = v1.placeholder(tf.float32, [None], name="x")
        tf.identity(tf.gradients(twice(x) + square(x), x)[0], name="slope")
        write_graph(s.graph, out)


POLYMORPHIC = """
signature {
  name: "Interleave"
  input_arg { name: "parts" type_attr: "T" number_attr: "N" }
  input_arg { name: "extra" type_list_attr: "Textra" }
  output_arg { name: "stacked" type_attr: "T" }
  output_arg { name: "again" type_list_attr: "Textra" }
  attr { name: "N" type: "int" has_minimum: true minimum: 1 }
  attr { name: "T" type: "type" }
  attr { name: "Textra" type: "list(type)" }
}
node_def {
  name: "pack" op: "Pack" input: "parts"
  attr { key: "N" value { placeholder: "N" } }
  attr { key: "T" value { placeholder: "T" } }
  attr { key: "axis" value { i: 1 } }
}
node_def {
  name: "same" op: "IdentityN" input: "extra" input: "^pack"
  attr { key: "T" value { placeholder: "Textra" } }
}
ret { key: "stacked" value: "pack:output:0" }
ret { key: "again" value: "same:output" }
"""
INTERLEAVE = """
node { name: "a" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: -1 } } } } }
node { name: "b" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } }
       attr { key: "shape" value { shape { unknown_rank: true } } } }
node { name: "y" op: "Interleave" input: "a" input: "a" input: "b" input: "a:0"
       attr { key: "N" value { i: 2 } } attr { key: "T" value { type: DT_FLOAT } }
       attr { key: "Textra" value { list { type: DT_STRING type: DT_FLOAT } } } }
node { name: "text" op: "Identity" input: "y:1" attr { key: "T" value { type: DT_STRING } } }
versions { producer: 2474 }
"""


def list_arguments(out: Path):
    """A function whose arguments are lists: `N * T` and `list(type)`."""
    from google.protobuf import text_format

    graph_def = text_format.Parse(INTERLEAVE, v1.GraphDef())
    graph_def.library.function.append(text_format.Parse(POLYMORPHIC, function_pb2.FunctionDef()))
    write_graph(graph_def, out)


def devices(out: Path):
    """Device strings, whole and partial, colocation, and attributes that begin with `_`."""
    with session() as s:
        with tf.device("/gpu:1"):
            a = v1.placeholder(tf.float32, [2], name="a")
        with tf.device("/job:worker/replica:0/task:3/device:CPU:0"):
            b = tf.sqrt(a, name="b")
        with v1.colocate_with(a):
            tf.exp(b, name="beside_a")
        with tf.device("/device:TPU:*"), s.graph._attr_scope({"_note": v1.AttrValue(s=b"\xff\x00note")}):
            tf.add(a, b, name="c")
        write_graph(s.graph, out)


def randomness(out: Path):
    """Stateful random ops with seeds, and dropout."""
    with session() as s:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        noise = v1.random_normal(tf.shape(x), seed=3) + v1.random_uniform([3], seed=4)
        v1.nn.dropout(x + noise, rate=0.5, seed=5, name="y")
        tf.random.shuffle(x, seed=6, name="z")
        write_graph(s.graph, out)


def input_pipeline(out: Path):
    """A dataset, an iterator, a queue: functions as attributes, variants and resources in a main graph."""
    with session() as s:
        data = v1.data.Dataset.range(6).map(lambda i: (i, tf.as_string(i))).filter(lambda i, _: i > 1)
        iterator = v1.data.make_initializable_iterator(data.batch(2))
        number, text = iterator.get_next()
        queue = v1.FIFOQueue(4, [tf.int64, tf.string], shapes=[[], []], name="queue")
        v1.train.add_queue_runner(v1.train.QueueRunner(queue, [queue.enqueue_many([number, text])]))
        tf.identity(queue.dequeue()[0], name="y")
        v1.get_variable("unused", initializer=np.float32(1), use_resource=False)
        save(s, out)


MODELS = [  # function              its file in the folder, or the folder itself
    (ref_variables, "model.ckpt.meta"),
    (resource_variables, "model.ckpt.meta"),
    (partitioned_variables, "model.ckpt.meta"),
    (sharded_checkpoint, "model.ckpt.meta"),
    (first_checkpoint_format, "model.ckpt.meta"),
    (input_pipeline, "model.ckpt.meta"),
    (estimator, ""),
    (legacy_init, ""),
    (simple_save, ""),
    (loops, "graph.pb"),
    (functional_loops, "graph.pb"),
    (tensor_arrays, "graph.pbtxt"),
    (frozen, "graph.pb"),
    (frozen_text, "graph.pbtxt"),
    (defun, "graph.pb"),
    (list_arguments, "graph.pb"),
    (devices, "graph.pb"),
    (randomness, "graph.pb"),
]
