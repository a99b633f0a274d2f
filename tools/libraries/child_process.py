"""Run a function that may crash its process in a child process.

`in_child(work)` returns the dictionary that `work` returns. If the child crashes, it returns the
signal or exit code and the log line with the reason. It needs only the standard library.
"""

import json
import os
import re
import signal
import tempfile

SECONDS = 40
TRIES = 3
TIME = re.compile(r"^(\w\d{4} [\d:.]+ +\d+ |\d{4}-\d\d-\d\d [\d:.]+: )")
NOISE = ("WARNING: All log messages before absl::InitializeLog()", "*** ")
FATAL = re.compile(r"^F\d|Check failed|terminate called|FATAL")


def in_child(work) -> dict:
    """The result of `work`; retried after a timeout, as a child of a process with threads may hang."""
    for _ in range(TRIES):
        answer = attempt(work)
        if answer.get("ends_process") != "SIGALRM":
            break
    return answer


def attempt(work) -> dict:
    with tempfile.TemporaryFile("w+") as answer, tempfile.TemporaryFile("w+", errors="replace") as log:
        child = os.fork()
        if child == 0:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            signal.alarm(SECONDS)
            json.dump(work(), answer)
            answer.flush()
            os._exit(0)  # without running exit handlers of the library
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        log.seek(0)
        answer.seek(0)
        if code == 0:
            return json.load(answer)
        how = signal.Signals(-code).name if code < 0 else code
        return {"loads": False, "says": crash_reason(log.read()), "ends_process": how}


def crash_reason(log: str) -> str:
    """The line with the reason, without its time."""
    lines = [line for line in log.strip().split("\n") if line and not line.startswith(NOISE)]
    fatal = [line for line in lines if FATAL.search(line)]
    return TIME.sub("", (fatal or lines or [""])[-1])
