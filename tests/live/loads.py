"""Whether TensorFlow loads a model, with each of its loaders.

`loads(path)` returns {loader: "loads", or the first words of the error}. `facts` reads the contents
of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.live import facts, tfjs

tf, v1 = facts.tf, facts.v1


def by_saved_model_load(path: Path) -> None:
    tf.saved_model.load(str(path))


def by_session(path: Path) -> None:
    """Load like TF1 and TensorFlow Serving: import, restore, initialize."""
    for graph in facts.saved_model(path)["graphs"]:
        with v1.Session(graph=tf.Graph()) as session:
            v1.saved_model.load(session, graph["tags"], str(path))


def by_import_meta_graph(path: Path) -> None:
    with tf.Graph().as_default():
        v1.train.import_meta_graph(str(path), clear_devices=True)


def by_restore(path: Path) -> None:
    with v1.Session(graph=tf.Graph()) as session, session.graph.as_default():
        saver = v1.train.import_meta_graph(str(path), clear_devices=True)
        if saver:
            saver.restore(session, str(path.with_suffix("")))


def by_import_graph_def(path: Path) -> None:
    with tf.Graph().as_default():
        tf.import_graph_def(facts.parse(path, v1.GraphDef()), name="")


def by_import_with_weights(path: Path) -> None:
    with tf.Graph().as_default():
        tf.import_graph_def(tfjs.meta_graph(path).graph_def, name="")


def by_load_checkpoint(path: Path) -> None:
    facts.variables(path.with_suffix(""))


LOADERS: dict[str, dict[str, Callable[[Path], None]]] = {
    "saved_model": {"saved_model.load": by_saved_model_load, "session": by_session},
    "meta_graph": {"import_meta_graph": by_import_meta_graph, "restore": by_restore},
    "graph_def": {"import_graph_def": by_import_graph_def},
    "checkpoint": {"load_checkpoint": by_load_checkpoint},
    "tfjs": {"import_graph_def": by_import_with_weights},
}


def attempt(load: Callable[[Path], None], path: Path) -> str:
    try:
        load(path)
    except Exception as error:
        return facts.first_words(error)
    return "loads"


def loads(kind: str, path: Path) -> dict[str, str]:
    """Return the outcome of each loader for a model of this kind."""
    path = facts.newest_version(path)
    return {name: attempt(load, path) for name, load in LOADERS[kind].items()}
