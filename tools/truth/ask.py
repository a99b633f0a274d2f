"""What does one release do with many models? Each in a process of its own, forked from one.

    python ask.py PACKAGE SECONDS < TASKS

Each line of TASKS is JSON: a loader, the model's folder and what that loader needs
(`plan` writes it). Prints a line for each: stage (null, "load" or "run"), what
TensorFlow says, the signature that failed, and what was logged. A process that dies
or does not end in SECONDS is an outcome too. It needs the standard library only.
"""

import json
import os
import re
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "atlas"))

from loaders import LOADERS
from native import load

LOGGED = 100_000
FATAL = re.compile(r": F |^F\d{4} |terminate called|what\(\):")


def main(package: Path, seconds: float) -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    tasks = [json.loads(line) for line in sys.stdin]
    tf = load(package)
    for task in tasks:
        print(json.dumps(in_a_fork(tf, task, seconds)), flush=True)


def in_a_fork(tf, task: dict, seconds: float) -> dict:
    """Do one task in a copy of this process; what it said, or how it ended."""
    said, status, in_time, logged = forked(lambda writer: attempt(tf, task, writer), seconds)
    return {**outcome(said, status, in_time, seconds, logged), "log": logged}


def forked(work: Callable[[int], None], seconds: float) -> tuple[bytes, int, bool, str]:
    """Work in a copy of this process: what it wrote, its status, whether it ended in time, what it logged."""
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as log:
        child = os.fork()
        if not child:
            os.dup2(log.fileno(), 2)
            os.dup2(log.fileno(), 1)
            work(writer)
        os.close(writer)
        said, in_time = read_all(reader, seconds)
        os.close(reader)
        if not in_time:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        log.seek(0)
        return said, status, in_time, log.read(LOGGED).decode(errors="replace")


def attempt(tf, task: dict, writer: int) -> None:
    """In the copy: a line before each step, so that who dies is known to have been at it."""

    def tell(**said) -> None:
        os.write(writer, json.dumps(said).encode() + b"\n")

    try:
        LOADERS[task["loader"]](tf, task, tell)
    except BaseException as error:
        tell(broken=f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)


def read_all(reader: int, seconds: float) -> tuple[bytes, bool]:
    """What comes until the other side ends, and whether it did so in time."""
    said, end = b"", time.monotonic() + seconds
    while select.select([reader], [], [], max(0, end - time.monotonic()))[0]:
        block = os.read(reader, 1 << 16)
        if not block:
            return said, True
        said += block
    return said, False


def outcome(said: bytes, status: int, in_time: bool, seconds: float, log: str) -> dict:
    last = json.loads(said.splitlines()[-1]) if said else {"at": "load"}
    if "broken" in last:
        sys.exit(f"the watcher failed: {last['broken']}")
    if "at" not in last:
        return last
    if not in_time:
        says = f"does not end in {seconds:.0f} s"
    else:
        says = f"ends the process: {ending(status)}. {fatal(log)}"
    return {"stage": last["at"], "says": says, "signature": last.get("signature")}


def ending(status: int) -> str:
    killed = os.WIFSIGNALED(status)
    return signal.Signals(os.WTERMSIG(status)).name if killed else f"exit code {os.WEXITSTATUS(status)}"


def fatal(log: str) -> str:
    """What a process that ends itself says last, without its stack."""
    return " ".join(line for line in log.splitlines() if FATAL.search(line))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
