"""Load and run many models with the C API of one release on a machine with a GPU.

    python gpu_probe.py LIBRARIES FOLDER ANSWERS [WORKERS] [SECONDS]

FOLDER has `tasks.jsonl` and the models (`gpu_tasks` writes both). Appends a line of JSON to ANSWERS for each
task as soon as it is known: its index, what `capi_probe` answers, and the device of each node that TensorFlow
placed. CUDA does not survive a fork and takes seconds to start, so each worker is a process that does many
tasks in turn. If one ends early, a new process repeats the task alone; if it ends that too, that is the
answer. It needs only the standard library.
"""

import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "atlas"))

from capi_loaders import LOADERS
from capi_probe import LOGGED, outcome, read_all
from native import load

ROOT = "FOLDER"
"""Stands in the tasks for the folder."""
DONE = b"\n\n"
TOGETHER = 100
"""Tasks of one process."""
PLACED = re.compile(r"(?:^|\] )([^\s\]]+): \((\w+)\): /job:localhost/replica:0/task:0/device:(\w+:\d+)", re.M)
ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}


def main(libraries: Path, folder: Path, answers: Path, workers: int, seconds: float) -> None:
    todo: queue.Queue = queue.Queue()
    text = (folder / "tasks.jsonl").read_text().replace(ROOT, str(folder))
    for index, line in enumerate(text.splitlines()):
        todo.put((index, json.loads(line)))
    with answers.open("a") as out:
        lock = threading.Lock()

        def answer_all() -> None:
            worker = Worker(libraries, seconds)
            while not todo.empty():
                try:
                    index, task = todo.get_nowait()
                except queue.Empty:
                    break
                answer = worker.answer(task)
                with lock:
                    print(json.dumps({"index": index, **answer}), file=out, flush=True)
            worker.end()

        threads = [threading.Thread(target=answer_all) for _ in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class Worker:
    """A process that does tasks in turn, and its successors."""

    def __init__(self, libraries: Path, seconds: float) -> None:
        self.libraries, self.seconds = libraries, seconds
        self.process: subprocess.Popen | None = None
        self.done = 0

    def answer(self, task: dict) -> dict:
        answer, ended = self.attempt(task)
        if ended and self.done > 1:  # an earlier task may be the cause
            self.end()
            answer, ended = self.attempt(task)
        if ended or self.done >= TOGETHER:
            self.end()
        return answer

    def attempt(self, task: dict) -> tuple[dict, bool]:
        """Return the answer of the process, and whether it ended."""
        process = self.process or self.start()
        self.done += 1
        start = self.log.seek(0, os.SEEK_END)
        try:
            process.stdin.write(json.dumps(task).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:  # it ended after its last answer
            return {"stage": "load", "message": "the process had ended"}, True
        output, in_time = read_all(self.reader, self.seconds, DONE)
        ended = not output.endswith(DONE)
        if ended:
            process.kill()
        status = process.wait() if ended and in_time else 0
        self.log.seek(start)
        log = self.log.read(LOGGED).decode(errors="replace")
        answer = outcome(output.removesuffix(DONE), wait_status(status), in_time, self.seconds, log)
        return answer | {"placed": placed(log)} | ({"log": log[-2000:]} if ended else {}), ended

    def start(self) -> subprocess.Popen:
        self.reader, writer = os.pipe()
        self.log = tempfile.TemporaryFile()  # noqa: SIM115  closed in `end`
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker", str(self.libraries), str(writer)],
            stdin=subprocess.PIPE,
            stdout=self.log,
            stderr=self.log,
            pass_fds=[writer],
            env={**os.environ, **ENVIRONMENT},
        )
        os.close(writer)
        return self.process

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            os.close(self.reader)
            self.log.close()
        self.process, self.done = None, 0


def wait_status(code: int) -> int:
    """Return the status that `os.waitpid` has for a return code of `subprocess`."""
    return -code if code < 0 else code << 8


def placed(log: str) -> dict[str, str]:
    """Return the device of each node that TensorFlow logged."""
    return {name: device for name, _, device in PLACED.findall(log)}


def work(libraries: Path, writer: int) -> None:
    """In a worker: report each step before it starts, so that a crash can be attributed to it."""

    def report(**fields) -> None:
        os.write(writer, json.dumps(fields).encode() + b"\n")

    tf = load(libraries)
    for line in sys.stdin:
        task = json.loads(line)
        report(at="load")
        try:
            LOADERS[task["loader"]](tf, task, report)
        except BaseException as error:
            report(broken=f"{type(error).__name__}: {error}")
        os.write(writer, b"\n")


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        work(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main(*map(Path, sys.argv[1:4]), int((sys.argv[4:] or [6])[0]), float((sys.argv[5:] or [30])[0]))
