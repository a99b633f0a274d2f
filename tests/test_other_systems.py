"""macOS and Windows, as far as Linux can show it: the same commands without what these systems lack.

A process imports its libraries, then hides the modules, functions and files that the other system lacks, sets
`sys.platform`, and runs commands. What it cannot show: other wheels, other file systems, real consoles.
"""

import asyncio
import errno
import json
import socket
import subprocess
import sys
from pathlib import Path, PureWindowsPath

import pytest
from aiohttp import web

from tfport import operating_system
from tfport.errors import Error
from tfport.serve.event_loop import new_runner
from tfport.serve.file_limit import connections_allowed
from tfport.serve.rest.connections import ConnectionLimits
from tfport.serve.rest.listener import HttpListener

ROOT = Path(__file__).parents[1]
FIRST = """
asyncio ctypes.util http.server importlib.metadata importlib.resources logging.handlers mmap
multiprocessing.connection selectors shutil signal socket sqlite3 ssl subprocess tempfile threading uuid
webbrowser zipfile concurrent.futures.process concurrent.futures.thread
aiohttp.web capstone elftools google.protobuf.json_format google.protobuf.text_format google_crc32c grpc.aio
h5py ml_dtypes numpy.fft numpy.linalg numpy.random numpy.testing onnxruntime orjson packaging.tags PIL.Image
prometheus_client pycxxfilt re2 scipy.fft scipy.special tvm_ffi
"""
ONLY_ON_LINUX = {
    "os": "memfd_create sched_getaffinity sched_setaffinity MFD_CLOEXEC sendfile posix_fadvise",
    "socket": "TCP_CORK SO_REUSEPORT",
}
NOT_ON_WINDOWS = {
    "os": """fork forkpty geteuid getuid getgid killpg setsid nice sysconf chown mkfifo pread pwrite
        register_at_fork posix_spawn pipe2 statvfs uname getloadavg WNOHANG
        wait setpgid O_NOFOLLOW O_DIRECTORY O_CLOEXEC""",
    "signal": "pthread_sigmask SIGHUP SIGKILL SIGUSR1 SIGUSR2 SIGALRM SIGPIPE setitimer",
    "socket": "AF_UNIX",
    "mmap": "MAP_SHARED MAP_PRIVATE MAP_ANONYMOUS PROT_READ PROT_WRITE MADV_DONTNEED",
}
MISSING = {
    "darwin": {"modules": "uvloop", "functions": ONLY_ON_LINUX},
    "win32": {
        "modules": "_posixshmem _posixsubprocess fcntl grp pwd readline resource termios tty uvloop",
        "functions": {
            name: f"{ONLY_ON_LINUX.get(name, '')} {NOT_ON_WINDOWS[name]}" for name in NOT_ON_WINDOWS
        },
    },
}
HIDE = """
import importlib, json, sys
hidden = json.loads(sys.argv[1])
for name in hidden["first"].split():  # libraries, whose other wheels do without
    importlib.import_module(name)
import builtins, io, os

sys.platform = hidden["platform"]
for module, names in hidden["functions"].items():
    for owner in (sys.modules[module], *([sys.modules["posix"]] if module == "os" else [])):
        for name in names.split():
            if hasattr(owner, name):
                delattr(owner, name)
for name in hidden["modules"].split():
    sys.modules[name] = None

def without_proc(function):
    def call(path, *args, **kwargs):
        if isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith(("/proc", "/sys")):
            raise FileNotFoundError(2, "No such file or directory", os.fspath(path))
        return function(path, *args, **kwargs)
    return call

builtins.open = io.open = without_proc(open)
os.listdir, os.stat, os.open, os.readlink = map(without_proc, (os.listdir, os.stat, os.open, os.readlink))
"""
COMMANDS = """
import contextlib
from tfport.cli.main import main

results = []
for arguments in json.loads(sys.argv[2]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = ended.code
    results.append((code, err.getvalue()))
print(json.dumps(results))
"""
IMPORTS = """
import importlib, pkgutil
import tfport

broken = {}
for module in pkgutil.walk_packages(tfport.__path__, "tfport."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        if error.name.partition(".")[0] not in json.loads(sys.argv[2]).split():
            broken[module.name] = str(error)
    except Exception as error:
        if getattr(error, "extra", "") not in json.loads(sys.argv[3]).split():
            broken[module.name] = f"{type(error).__name__}: {error}"
print(json.dumps(broken))
"""
OPTIONAL = "ai_edge_quantizer apache_beam mlflow model_explorer onnx openvino pyspark ray starlette"
OPTIONAL_EXTRAS = "beam mlflow ray spark"
"""Their modules say what to install."""
ELSEWHERE = {
    "tfport.atlas.library_probe",  # loads TensorFlow's libraries, on the system they were built for
    "tfport.web.model_explorer.main",  # needs Model Explorer
}


def on(platform, program, *arguments):
    """What a program prints as JSON in a process that has what the platform has."""
    hidden = {"platform": platform, "first": FIRST, **MISSING[platform]}
    command = [sys.executable, "-c", HIDE + program, json.dumps(hidden), *map(json.dumps, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("platform", MISSING)
def test_every_module_can_be_imported(platform):
    broken = on(platform, IMPORTS, OPTIONAL, OPTIONAL_EXTRAS)
    assert {name: why for name, why in broken.items() if name not in ELSEWHERE} == {}


@pytest.mark.parametrize("platform", MISSING)
def test_commands_work(platform, tmp_path):
    model, older = "examples/attention", "tensorflow==1.13.2"
    commands = [
        (["inspect", model], 0),
        (["inspect", model, "--html", str(tmp_path / "page.html")], 0),
        (["check", model, "--on", older], 1),
        (["check", model, "--on", "tfport"], 0),
        (["check", *[model] * 20, "--on", "tensorflow==2.8.4"], 0),
        (["matrix", model], 0),
        (["scan", model], 0),
        (["explain", "TFP101"], 0),
        (["ops", "MatMul"], 0),
        (["run", model, "--input", 'words=[["river", "rises"]]'], 0),
        (["fix", model, "--for", older, "-o", str(tmp_path / "fixed")], 0),
        (["export", model, "-o", str(tmp_path / "weights.npz")], 0),
        (["audit", "examples", "--on", "tensorflow==2.8.4", "-o", str(tmp_path / "a.sqlite")], 0),
    ]
    if platform == "win32":  # a worker process would start with what this system has
        commands = [c for c in commands if c[0][0] != "audit" and len(c[0]) < 20]
    results = on(platform, COMMANDS, [arguments for arguments, _ in commands])
    for (arguments, wanted), (code, errors) in zip(commands, results, strict=True):
        assert (code, errors) == (wanted, ""), arguments


def test_what_needs_inherited_sockets_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(Error, match="--grpc_processes needs Linux or macOS; on Windows, leave it out"):
        operating_system.require_posix("--grpc_processes", "leave it out")


def test_memory_and_processors_are_known_without_posix(monkeypatch):
    assert operating_system.processors() >= 1
    assert operating_system.physical_memory() > 1 << 28
    monkeypatch.delattr("os.sysconf")
    monkeypatch.delattr("os.sched_getaffinity")
    assert operating_system.physical_memory() == operating_system.TYPICAL_MEMORY
    assert operating_system.processors() >= 1


def test_the_memory_of_a_process_is_asked_of_the_system_it_runs_on(monkeypatch):
    assert operating_system.resident_memory() > 1 << 24
    monkeypatch.setattr(sys, "platform", "win32")  # asked through ctypes, not /proc, which Wine has too
    assert operating_system.resident_memory() == 0


def test_the_event_loop_of_a_server_watches_sockets_on_windows(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with new_runner() as runner:  # the default loop there has no add_reader
        assert isinstance(runner.get_loop(), asyncio.SelectorEventLoop)
    assert 100 < connections_allowed(ports=2) < 512 / 2  # select waits for 512 sockets


def test_a_server_listens_where_a_socket_without_an_address_has_no_name(monkeypatch):
    class WindowsSocket(socket.socket):
        def getsockname(self):
            name = super().getsockname()
            if name[1] == 0:
                raise OSError(errno.EINVAL, "Invalid argument")
            return name

    async def listen():
        limits, refused = ConnectionLimits(), lambda *_: None
        listener = HttpListener(web.Application(), "localhost", 0, limits=limits, refused=refused)
        try:
            return await listener.start()
        finally:
            await listener.close()

    monkeypatch.setattr(socket, "socket", WindowsSocket)
    assert asyncio.run(listen()) > 0


def test_the_interpreter_of_an_environment(monkeypatch):
    assert operating_system.python_of("env").endswith("bin/python")
    monkeypatch.setattr(sys, "platform", "win32")
    assert PureWindowsPath(operating_system.python_of("env")).parts == ("env", "Scripts", "python.exe")
