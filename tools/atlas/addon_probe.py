"""Load libraries of add-ons into a release, and write what each one registers.

    python addon_probe.py PACKAGE < JOBS

PACKAGE is the folder of TensorFlow's own package. JOBS has a line for each library:
its path, the root of its wheel, and the output OUT, separated by tabs. Writes OUT.json
(the result) and, if the library loads, OUT.pb (an OpList) and, from 1.11 on,
OUT.kernels.pb (a KernelList), both sorted. TensorFlow is loaded once; each library is
loaded in a child process, because it may crash. It needs the standard library, and a C
compiler to stub what this machine lacks.
"""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

from native import LIBRARIES, Status, declare, define, entries, open_library

SECONDS = 120
NO_FILE = re.compile(r"^([\w.+-]+): cannot open shared object file")
NO_SYMBOL = re.compile(r"undefined symbol: (\w+)")
TIME = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+: ")
OF_PYTHON = re.compile(r"_?Py")
OF_CUDA = re.compile(r"(__cuda|cu(da|blas|dnn|fft|rand|solver|sparse)?|nccl|nv|NV)[A-Z]\w+$")
# Symbols of TensorFlow are never stubbed: whether a release has them is the question.
OF_TENSORFLOW = re.compile(r"tensorflow|tsl|xla|absl|google|stream_executor|Eigen|^(TF|TSL|SE|SP)_")
NO_DEVICE = 100  # cudaErrorNoDevice
PLUGIN = "tensorflow-plugins"


def main(package: Path, jobs: list[str]) -> None:
    tf = load_release(package)
    before = registry(tf)
    for job in jobs:
        path, root, out = job.rstrip("\n").split("\t")
        Path(out).parent.mkdir(parents=True, exist_ok=True)
        in_child(lambda path=path, out=out: add(tf, path, out, before), out)
        clean(Path(f"{out}.json"), {root: "WHEEL", str(package): "TENSORFLOW"})


def load_release(package: Path) -> ctypes.CDLL:
    """Load the release as Python does: an op library sees only the libraries that it needs."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    paths = [path for pattern in LIBRARIES for path in sorted(package.glob(pattern))]
    stubbed: list[str] = []
    for path in paths:
        library = open_local(path, paths, stubbed)
    return declare(library)


def open_local(path: Path, paths: list[Path], stubbed: list[str]) -> ctypes.CDLL:
    """Load a library of the release, with stubs for the CUDA libraries that a GPU build needs."""
    while True:
        try:
            return ctypes.CDLL(str(path), os.RTLD_LOCAL | os.RTLD_LAZY)
        except OSError as error:
            if not satisfy(str(error), paths, stubbed):
                raise


def in_child(work, out: str) -> None:
    """Do `work` in a child process; if it crashes, write the last line of its log as the message."""
    log = Path(f"{out}.log")
    child = os.fork()
    if child == 0:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        signal.alarm(SECONDS)
        try:
            work()
            os._exit(0)  # skip the exit handlers of the library
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        last = TIME.sub("", log.read_text(errors="replace").strip().split("\n")[-1])
        how = f"loading it crashes the process ({signal.Signals(-code).name if code < 0 else code})"
        Path(f"{out}.json").write_text(json.dumps({"refused": f"{how}: {last}" if last else how}))
    log.unlink()


def add(tf: ctypes.CDLL, path: str, out: str, before: tuple[Counter, Counter]) -> None:
    """Load a library; write what it adds, or why it does not load."""
    stubbed: list[str] = []
    handle, message = load_library(tf, path, stubbed)
    if message is not None:
        Path(f"{out}.json").write_text(json.dumps({"refused": message, "stubbed": stubbed}))
        return
    ops, kernels = (now - old for now, old in zip(registry(tf), before, strict=True))
    listed = ops if PLUGIN in path else Counter(entries(tf.TF_GetOpList(handle).bytes()))
    Path(f"{out}.pb").write_bytes(b"".join(sorted(listed)))
    if hasattr(tf, "TF_GetAllRegisteredKernels"):
        Path(f"{out}.kernels.pb").write_bytes(b"".join(sorted(kernels.elements())))
    counts = {"ops": len(listed), "new": len(ops), "kernels": kernels.total()}
    Path(f"{out}.json").write_text(json.dumps({"refused": None, "stubbed": stubbed, **counts}))


def load_library(tf: ctypes.CDLL, path: str, stubbed: list[str]) -> tuple[ctypes.c_void_p, str | None]:
    """Return the handle of a library, or TensorFlow's message if stubs do not help."""
    call = tf.TF_LoadLibrary
    if PLUGIN in path:  # device plugins have their own function
        call = tf.TF_LoadPluggableDeviceLibrary
        call.restype = ctypes.c_void_p
    while True:
        status = Status(tf)
        handle = ctypes.c_void_p(call(path.encode(), status.handle))
        if status.ok:
            return handle, None
        if not satisfy(status.message, [path], stubbed):
            return handle, status.message


def satisfy(message: str, paths: list[str | Path], stubbed: list[str]) -> bool:
    """Stub what the loader misses, if it belongs to Python or to a library that this machine lacks."""
    file, symbol = NO_FILE.search(message), NO_SYMBOL.search(message)
    wanted = file[1] if file else symbol[1] if symbol else ""
    if not wanted or wanted in stubbed or OF_TENSORFLOW.search(wanted):
        return False
    if file:
        symbols = [pair for path in paths for pair in undefined(path)]
        versioned = {symbol for symbol, version in symbols if version == wanted}
        of_cuda = {symbol for symbol, version in symbols if not version and OF_CUDA.match(symbol)}
        stub(wanted, versioned or of_cuda, f"{wanted} {{ global: *; }};" if versioned else "")
    elif OF_PYTHON.match(wanted):
        define(wanted)
    elif not wanted.startswith("_Z") or any(".so" in name for name in stubbed):
        stub(f"stub-{wanted}", {wanted})
    else:
        return False
    stubbed.append(wanted)
    return True


def undefined(path: str | Path) -> list[tuple[str, str]]:
    """Return the undefined symbols of a library, each with its version."""
    listing = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True).stdout
    symbols = (line.split()[-1].partition("@") for line in listing.splitlines())
    return [(symbol, version.lstrip("@")) for symbol, _, version in symbols]


def stub(name: str, symbols: set[str], versions: str = "") -> None:
    """Load a library of this name whose functions do nothing; those of CUDA report no device."""
    codes = {s: NO_DEVICE if OF_CUDA.match(s) and not s.startswith("__") else 0 for s in sorted(symbols)}
    code = "".join(f"long {symbol}(void) {{ return {answer}; }}\n" for symbol, answer in codes.items())
    with tempfile.TemporaryDirectory() as folder:
        file, script = Path(folder, "stub.so"), Path(folder, "versions")
        script.write_text(versions)
        compiler = [os.environ.get("CC", "cc"), "-w", "-shared", "-fPIC", "-x", "c", "-", "-o", file]
        options = [f"-Wl,-soname,{name}", *([f"-Wl,--version-script={script}"] if versions else [])]
        subprocess.run([*compiler, *options], input=code.encode(), check=True)
        open_library(file)


def registry(tf: ctypes.CDLL) -> tuple[Counter, Counter]:
    """Return all ops and kernels of this process, serialized."""
    ops, kernels = Counter(entries(tf.TF_GetAllOpList().contents.bytes())), Counter()
    if hasattr(tf, "TF_GetAllRegisteredKernels"):
        kernels.update(entries(tf.TF_GetAllRegisteredKernels(Status(tf).handle).contents.bytes()))
    return ops, kernels


def clean(file: Path, names: dict[str, str]) -> None:
    """Remove the folders of this machine from a result."""
    text = file.read_text()
    for folder, name in names.items():
        text = text.replace(folder, name)
    file.write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.stdin.readlines())
