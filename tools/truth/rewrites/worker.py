"""Run models in the libraries of one release, each in a process forked from this one.

    python worker.py PACKAGE SECONDS FOLDER < TASKS

Each line of TASKS is JSON: the model (`saved_model` and `tags`, or `graph` and, where there are
variables, `restore`), and `runs`, each with feeds (tensor name: see `tensor_files`) and fetches.
Prints a line for each task: for each run the answers in the form of the feeds, as files of
FOLDER, or what TensorFlow said. A process that dies or does not end in SECONDS is an
outcome too. It needs the standard library only.
"""

import ctypes
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path += [str(Path(__file__).parents[2] / folder) for folder in ("atlas", "truth")]

from capi_probe import ending, fatal, forked
from native import Status, load
from session import outputs
from tensor_files import from_tensor, to_tensor, with_lengths
from tensors import STRING

Tell = Callable[..., None]
PLAIN = b"\x52\x05\x52\x03\x98\x01\x01"
"""ConfigProto{graph_options{rewrite_options{disable_meta_optimizer: true}}}: run it as it is."""


class Refused(Exception):
    """An error message of TensorFlow."""


class Buffer(ctypes.Structure):
    """TF_Buffer, made here."""

    _fields_ = (("data", ctypes.c_char_p), ("length", ctypes.c_size_t), ("free", ctypes.c_void_p))


def main(package: Path, seconds: float, folder: Path) -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    tasks = [json.loads(line) for line in sys.stdin]
    tf = load(package)
    print(json.dumps({"version": tf.TF_Version().decode()}), flush=True)
    for number, task in enumerate(tasks):
        print(json.dumps(in_a_fork(tf, task, seconds, folder / f"{number}")), flush=True)


def in_a_fork(tf, task: dict, seconds: float, folder: Path) -> dict:
    """Run one task in a fork of this process: the result of each run, or how it ended."""
    lines, status, in_time, logged = forked(lambda writer: attempt(tf, task, folder, writer), seconds)
    done = [json.loads(line) for line in lines.splitlines()]
    end = f"ends the process: {ending(status)}. {fatal(logged)}"
    late = f"does not end in {seconds:.0f} s"
    missing = len(task["runs"]) - len(done)
    return {"runs": done + [{"says": end if in_time else late, "stage": "crash"}] * missing}


def attempt(tf, task: dict, folder: Path, writer: int) -> None:
    """In the fork: write a line for each run, so that results before a crash are kept."""

    def tell(**answer) -> None:
        os.write(writer, json.dumps(answer).encode() + b"\n")

    try:
        folder.mkdir()
        for answer in answers(Loaded(tf, task), task["runs"], folder):
            tell(**answer)
    except Refused as refused:
        for _ in task["runs"]:
            tell(says=str(refused), stage="load")
    except BaseException as error:
        tell(says=f"the worker failed: {type(error).__name__}: {error}", stage="crash")
    finally:
        os._exit(0)


def answers(model: "Loaded", runs: list[dict], folder: Path) -> Iterator[dict]:
    for number, run in enumerate(runs):
        try:
            outputs = model.run(run["feeds"], run["fetches"])
        except Refused as refused:
            yield {"says": str(refused), "stage": "run"}
            continue
        files = (folder / f"{number}_{i}" for i in range(len(outputs)))
        yield {
            "answers": {
                name: from_tensor(model.tf, t, file) for (name, t), file in zip(outputs, files, strict=True)
            }
        }


class Loaded:
    """A model in a session, its variables restored and its tables filled."""

    def __init__(self, tf, task: dict) -> None:
        self.tf, self.status = tf, Status(tf)
        self.graph = ctypes.c_void_p(tf.TF_NewGraph())
        self.options = ctypes.c_void_p(tf.TF_NewSessionOptions())
        if task["plain"]:
            tf.TF_SetConfig(self.options, PLAIN, ctypes.c_size_t(len(PLAIN)), self.status.handle)
            self.must()
        if "saved_model" in task:
            self.load(task["saved_model"], task["tags"])
        else:
            self.import_graph(Path(task["graph"]).read_bytes())
            if restore := task.get("restore"):
                self.run({restore["feed"]: restore["path"]}, (), [restore["op"]])

    def must(self) -> None:
        if not self.status.ok:
            raise Refused(self.status.message or "an error without a message")

    def load(self, folder: str, tags: list[str]) -> None:
        names = (ctypes.c_char_p * len(tags))(*(tag.encode() for tag in tags))
        self.session = ctypes.c_void_p(
            self.tf.TF_LoadSessionFromSavedModel(
                self.options, None, folder.encode(), names, len(tags), self.graph, None, self.status.handle
            )
        )
        self.must()

    def import_graph(self, content: bytes) -> None:
        self.tf.TF_NewImportGraphDefOptions.restype = ctypes.c_void_p
        buffer = Buffer(content, len(content), None)
        how = ctypes.c_void_p(self.tf.TF_NewImportGraphDefOptions())
        self.tf.TF_GraphImportGraphDef(self.graph, ctypes.byref(buffer), how, self.status.handle)
        self.must()
        self.session = ctypes.c_void_p(self.tf.TF_NewSession(self.graph, self.options, self.status.handle))
        self.must()

    def run(self, feeds: dict, fetches, targets=()) -> list[tuple[str, ctypes.c_void_p]]:
        self.all_there([*feeds, *fetches, *targets])
        tensors = [self.tensor(value) for value in feeds.values()]
        results = (ctypes.c_void_p * len(fetches))()
        ops = [self.tf.TF_GraphOperationByName(self.graph, op.encode()) for op in targets]
        self.tf.TF_SessionRun(
            self.session, None,
            outputs(self.tf, self.graph, feeds), (ctypes.c_void_p * len(feeds))(*tensors), len(feeds),
            outputs(self.tf, self.graph, fetches), results, len(fetches),
            (ctypes.c_void_p * len(ops))(*ops), len(ops), None, self.status.handle,
        )  # fmt: skip
        self.must()
        return [(name, ctypes.c_void_p(t)) for name, t in zip(fetches, results, strict=True)]

    def all_there(self, names: list[str]) -> None:
        """Look an operation up first: the C API crashes for one that does not exist."""
        for name in names:
            if not self.tf.TF_GraphOperationByName(self.graph, name.rsplit(":", 1)[0].encode()):
                raise Refused(f"TF_GraphOperationByName finds no operation for {name}")

    def tensor(self, value: list | str) -> int:
        """The content of a file, or a string."""
        if isinstance(value, str):
            return to_tensor(self.tf, STRING, [], with_lengths([value.encode()]))
        dtype, shape, file = value
        return to_tensor(self.tf, dtype, shape, Path(file).read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]))
