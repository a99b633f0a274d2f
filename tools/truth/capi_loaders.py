"""Two ways to load a SavedModel and run its signatures through TensorFlow's C API.

`capi` is TF_LoadSessionFromSavedModel, which C, Java and Go use. `serving` simulates
the C++ loader of TensorFlow Serving with the C API: a session without soft placement
that receives the GraphDef, restores variables, runs the init op, and runs by name.
A task may have `config`: a ConfigProto for the session, in hexadecimal digits.
"""

import ctypes
from collections.abc import Callable, Iterable
from pathlib import Path

from native import Status
from session import fetch, load_session, session_options
from tensors import to_tensor

Report = Callable[..., None]
STRING = 7


def capi(tf, task: dict, report: Report) -> None:
    report(at="load")
    status, graph = Status(tf), ctypes.c_void_p(tf.TF_NewGraph())
    session = load_session(tf, graph, task["model"], ["serve"], status, config_of(task))
    if not status.ok:
        return report(stage="load", message=status.message)
    for name, asked in task["signatures"].items():
        report(at="run", signature=name)
        if message := absent(tf, graph, asked):
            return report(stage="run", message=message, signature=name)
        fetch(tf, graph, session, asked, status)
        if not status.ok:
            return report(stage="run", message=status.message, signature=name)
    return report(stage=None, message="")


def config_of(task: dict) -> bytes:
    return bytes.fromhex(task.get("config", ""))


def absent(tf, graph, asked: dict | None) -> str:
    """Return what a caller of the C API finds missing before it calls TensorFlow."""
    if asked is None:
        return "there is no such signature"
    for name in (*asked["feeds"], *asked["fetches"]):
        if not tf.TF_GraphOperationByName(graph, name.rsplit(":", 1)[0].encode()):
            return f"TF_GraphOperationByName finds no operation for {name}"
    return ""


def serving(tf, task: dict, report: Report) -> None:
    report(at="load")
    session = DeprecatedSession(tf, config_of(task))
    assets = {name: string(path) for name, path in task["assets"].items()}
    message = session.extend(Path(task["graph"]).read_bytes())
    if not message and task["restore"]:
        restore = task["restore"]
        message = session.run(assets | {restore["feed"]: string(restore["path"])}, (), [restore["op"]])
    if not message and task["init"]:
        message = session.run(assets, (), [task["init"]])
    if message:
        return report(stage="load", message=message)
    for name, asked in task["signatures"].items():
        report(at="run", signature=name)
        if message := session.run(asked["feeds"], asked["fetches"]):
            return report(stage="run", message=message, signature=name)
    return report(stage=None, message="")


def string(text: str) -> list:
    return [STRING, [], [text]]


class DeprecatedSession:
    """A session that takes GraphDefs and runs by name; each call returns its error message, or nothing."""

    def __init__(self, tf, config: bytes = b"") -> None:
        self.tf, self.status = tf, Status(tf)
        tf.TF_NewDeprecatedSession.restype = ctypes.c_void_p
        options = session_options(tf, self.status, config)
        self.handle = ctypes.c_void_p(tf.TF_NewDeprecatedSession(options, self.status.handle))
        assert self.status.ok, self.status.message

    @property
    def error(self) -> str:
        return "" if self.status.ok else self.status.message or "an error without a message"

    def extend(self, graph: bytes) -> str:
        self.tf.TF_ExtendGraph(self.handle, graph, ctypes.c_size_t(len(graph)), self.status.handle)
        return self.error

    def run(self, feeds: dict[str, list], fetches: Iterable[str], targets: Iterable[str] = ()) -> str:
        tensors = [to_tensor(self.tf, *value) for value in feeds.values()]
        names, wanted, ops = strings(feeds), strings(fetches), strings(targets)
        results = (ctypes.c_void_p * len(wanted))()
        self.tf.TF_Run(
            self.handle, None, names, (ctypes.c_void_p * len(names))(*tensors), len(names),
            wanted, results, len(wanted), ops, len(ops), None, self.status.handle,
        )  # fmt: skip
        return self.error


def strings(names: Iterable[str]) -> ctypes.Array:
    encoded = [name.encode() for name in names]
    return (ctypes.c_char_p * len(encoded))(*encoded)


LOADERS = {"capi": capi, "serving": serving}
