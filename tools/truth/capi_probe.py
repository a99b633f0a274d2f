"""Load and run many models with the C API of one release, each in its own forked process.

    python capi_probe.py PACKAGE SECONDS < TASKS

Each line of TASKS is JSON: a loader, the folder of the model and what that loader needs
(`capi_tasks` writes it). Prints a line of JSON for each: stage (null, "load" or "run"), the
message of TensorFlow, the signature that failed, and the log. A process that crashes or
exceeds SECONDS is an outcome too. It needs only the standard library.
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

from capi_loaders import LOADERS
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
    """Do one task in a fork of this process; return its answer, or how it ended."""
    output, status, in_time, logged = forked(lambda writer: attempt(tf, task, writer), seconds)
    return {**outcome(output, status, in_time, seconds, logged), "log": logged}


def forked(work: Callable[[int], None], seconds: float) -> tuple[bytes, int, bool, str]:
    """Work in a fork of this process; return its output, status, whether it ended in time, and its log."""
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as log:
        child = os.fork()
        if not child:
            os.dup2(log.fileno(), 2)
            os.dup2(log.fileno(), 1)
            work(writer)
        os.close(writer)
        output, in_time = read_all(reader, seconds)
        os.close(reader)
        if not in_time:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        log.seek(0)
        return output, status, in_time, log.read(LOGGED).decode(errors="replace")


def attempt(tf, task: dict, writer: int) -> None:
    """In the fork: report each step before it starts, so that a crash can be attributed to it."""

    def report(**fields) -> None:
        os.write(writer, json.dumps(fields).encode() + b"\n")

    try:
        LOADERS[task["loader"]](tf, task, report)
    except BaseException as error:
        report(broken=f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)


def read_all(reader: int, seconds: float, last: bytes = b"") -> tuple[bytes, bool]:
    """Read until the other side closes or has written `last`; return the bytes, and whether in time."""
    output, end = b"", time.monotonic() + seconds
    while select.select([reader], [], [], max(0, end - time.monotonic()))[0]:
        block = os.read(reader, 1 << 16)
        output += block
        if not block or (last and output.endswith(last)):
            return output, True
    return output, False


def outcome(output: bytes, status: int, in_time: bool, seconds: float, log: str) -> dict:
    last = json.loads(output.splitlines()[-1]) if output else {"at": "load"}
    if "broken" in last:
        sys.exit(f"the probe failed: {last['broken']}")
    if "at" not in last:
        return last
    if not in_time:
        message = f"does not end in {seconds:.0f} s"
    else:
        message = f"ends the process: {ending(status)}. {fatal(log)}"
    return {"stage": last["at"], "message": message, "signature": last.get("signature")}


def ending(status: int) -> str:
    killed = os.WIFSIGNALED(status)
    return signal.Signals(os.WTERMSIG(status)).name if killed else f"exit code {os.WEXITSTATUS(status)}"


def fatal(log: str) -> str:
    """Return the fatal lines of a log, without the stack."""
    return " ".join(line for line in log.splitlines() if FATAL.search(line))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
