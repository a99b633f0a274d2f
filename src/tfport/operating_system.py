"""What differs between Linux, macOS and Windows, asked in one place.

Modules such as `resource` and functions such as `os.killpg` exist on some systems only. Who needs one asks
here, and works without it, or refuses in one sentence (`require_posix`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tfport.errors import Error

if TYPE_CHECKING:
    import asyncio
    import socket
    import subprocess

KILLED = -9
"""The exit code of a process that SIGKILL ended."""
TYPICAL_MEMORY = 4 << 30
"""What a machine has that does not say it."""
_VIRTUAL_TERMINAL = 4


def is_windows() -> bool:
    return sys.platform == "win32"


def require_posix(what: str, instead: str) -> None:
    """Raise an error where processes cannot inherit sockets."""
    if is_windows():
        raise Error(f"{what} needs Linux or macOS; on Windows, {instead}")


def processors() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def physical_memory() -> int:
    """The bytes of memory of this machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _windows_memory() or TYPICAL_MEMORY


def _windows_memory() -> int:
    import ctypes  # here, as only Windows needs it

    class Status(ctypes.Structure):
        _fields_ = (
            *((name, ctypes.c_uint32) for name in ("length", "load")),
            *((name, ctypes.c_uint64) for name in ("total", "free", "a", "b", "c", "d", "e")),
        )

    status = Status(length=ctypes.sizeof(Status))
    kernel = getattr(ctypes, "windll", None)
    if kernel is None or not kernel.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return 0
    return int(status.total)


def resident_memory() -> int:
    """The bytes of memory that this process has; its most where the system only says that, or 0."""
    if is_windows():
        return _windows_resident_memory()
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        pass
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes on macOS


def _windows_resident_memory() -> int:
    import ctypes  # here, as only Windows needs it

    sizes = "peak resident peak_paged paged peak_unpaged unpaged page_file peak_page_file"
    counts = [(name, ctypes.c_uint32) for name in ("length", "faults")]
    fields = [*counts, *((name, ctypes.c_size_t) for name in sizes.split())]
    counters = type("Counters", (ctypes.Structure,), {"_fields_": fields})()
    counters.length = ctypes.sizeof(counters)
    kernel = getattr(ctypes, "windll", None)
    if kernel is None:
        return 0
    this_process = ctypes.c_void_p(-1)
    if not kernel.kernel32.K32GetProcessMemoryInfo(this_process, ctypes.byref(counters), counters.length):
        return 0
    return int(counters.resident)


# Processes


def process_group() -> dict[str, Any]:
    """Arguments of `Popen` for a process that is ended with all that it starts."""
    return {"creationflags": 0x200} if is_windows() else {"start_new_session": True}


def kill_group(process: subprocess.Popen[bytes] | asyncio.subprocess.Process) -> None:
    """End a process that was started with `process_group`; one that ended already is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def how_ended(code: int) -> str:
    """`killed by SIGSEGV`, or `exit code 3`."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:  # a signal of another system
        return f"killed by signal {-code}"


@contextlib.contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Let Ctrl-C wait; a process that is started meanwhile never gets it. Windows has nothing like it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def after_fork(do: Callable[[], None]) -> None:
    """Call `do` in each child that this process forks; Windows does not fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=do)


def start_resource_tracker() -> None:
    """Start the process that multiprocessing uses to clean up, as starting it later would unblock interrupts.

    Windows needs none.
    """
    if not is_windows():
        from multiprocessing import resource_tracker  # here, as few commands start processes

        resource_tracker.ensure_running()


def on_stop_signals(loop: asyncio.AbstractEventLoop, do: Callable[[], None]) -> None:
    """Have the loop call `do` for Ctrl-C and for the request to stop."""
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, do)
        except NotImplementedError:  # Windows, whose loop also has to be woken
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(do))


def use_address(listener: socket.socket) -> None:
    """Let a socket have the address of a server that has just ended, but not that of one that is running."""
    import socket  # here, as few commands listen

    if sys.platform == "win32":  # SO_REUSEADDR would take the address of a running server
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def python_of(environment: str) -> str:
    """The interpreter of a virtual environment."""
    return os.path.join(environment, *(("Scripts", "python.exe") if is_windows() else ("bin", "python")))


# Files and terminals


def memory_file(name: str) -> int:
    """The descriptor of a file without a name, in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(name, os.MFD_CLOEXEC)
    import tempfile  # here, as few processes need it

    with tempfile.TemporaryFile(buffering=0) as file:
        return os.dup(file.fileno())


def lock_file(descriptor: int, *, wait: bool = False) -> None:
    """Lock a file until it is closed; OSError if another process has it locked, unless this one waits."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def is_of_this_user(status: os.stat_result) -> bool:
    """Whether a file belongs to the user of this process; on Windows, temporary folders have one user."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def shows_colors() -> bool:
    """Whether the terminal understands escape sequences; an old console of Windows is asked to."""
    if not is_windows():
        return True
    import ctypes

    kernel = getattr(ctypes, "windll", None)
    if kernel is None:
        return False
    mode, output = ctypes.c_uint32(), kernel.kernel32.GetStdHandle(-11)
    if not kernel.kernel32.GetConsoleMode(output, ctypes.byref(mode)):
        return "TERM" in os.environ  # not a console, such as the terminal of Git or MSYS
    return bool(kernel.kernel32.SetConsoleMode(output, mode.value | _VIRTUAL_TERMINAL))
