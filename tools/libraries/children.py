"""Work that may end its process is done in a child of it.

`in_child(work)` is the dictionary that `work` gives. If the child ends otherwise, it is how,
and the line of its log that tells why. It needs the standard library only.
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
    """What `work` gives; a child of a process with threads may hang, and is tried again then."""
    for _ in range(TRIES):
        answer = tried(work)
        if answer.get("ends_process") != "SIGALRM":
            break
    return answer


def tried(work) -> dict:
    with tempfile.TemporaryFile("w+") as answer, tempfile.TemporaryFile("w+", errors="replace") as log:
        child = os.fork()
        if child == 0:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            signal.alarm(SECONDS)
            json.dump(work(), answer)
            answer.flush()
            os._exit(0)  # nothing of the library runs any more
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        log.seek(0)
        answer.seek(0)
        if code == 0:
            return json.load(answer)
        how = signal.Signals(-code).name if code < 0 else code
        return {"loads": False, "says": last_words(log.read()), "ends_process": how}


def last_words(log: str) -> str:
    """The line that tells why, without its time."""
    lines = [line for line in log.strip().split("\n") if line and not line.startswith(NOISE)]
    fatal = [line for line in lines if FATAL.search(line)]
    return TIME.sub("", (fatal or lines or [""])[-1])
