"""Ask a release of TensorFlow about Flex: whether its interpreter has the delegate, and its allow-list.

    python tools/atlas/lite_flex.py WRAPPER.so PACKAGE OPS.txt      prints JSON; runs in the wheel's Python

The allow-list is the answer of `tflite::flex::IsAllowlistedFlexOp` for every op, called by its address where
the libraries have a symbol of it (`IsWhitelistedFlexOp` until 2.3). The delegate is asked with a model of
one Flex op, in a process that has loaded the libraries of TensorFlow as `import tensorflow` does.
"""

import ctypes
import json
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lite_models import flex_model
from lite_probe import Wrapper

LIBRARIES = (
    "libtensorflow_framework.so.2",
    "libtensorflow_framework.so.1",
    "libtensorflow_framework.so",
    "libtensorflow_cc.so.2",
    "python/lib_pywrap_tensorflow_common.so",
    "python/_pywrap_tensorflow_internal.so",
)
FUNCTION = re.compile(
    r"^(\w+) [tTwW] _ZN6tflite4flex19Is(?:Allow|White)listedFlexOpERK(Ss|NSt7__cxx11\w+)(?:@|$)"
)
OLD_STRING = "Ss"


def loaded(package):
    """The paths of TensorFlow's libraries, which are loaded in the order of `import tensorflow`."""
    paths = [os.path.join(package, name) for name in LIBRARIES]
    present = [os.path.realpath(path) for path in paths if os.path.exists(path)]
    for path in present:
        ctypes.CDLL(path)
    return present


def allow_list(libraries, ops):
    """Those of the ops that may be Flex ops; None if no library has a symbol of the function."""
    for library in libraries:
        for options in (["-D"], []):
            listed = subprocess.run(["nm", *options, library], stdout=subprocess.PIPE).stdout.decode()
            for line in listed.splitlines():
                match = FUNCTION.match(line)
                if match:
                    address = _base(library) + int(match.group(1), 16)
                    asked = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(address)
                    string = _old_string if match.group(2) == OLD_STRING else _new_string
                    return [op for op in ops if _ask(asked, string, op)]
    return None


def _base(library):
    """The address at which a library is loaded."""
    with open("/proc/self/maps") as maps:
        return min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(library))


def _ask(function, string, name):
    argument, kept = string(name.encode())
    answer = function(ctypes.byref(argument))
    del kept
    return answer


def _new_string(text):
    """A `std::string` of the C++11 ABI: pointer, size, capacity."""
    data = ctypes.create_string_buffer(text)
    return (ctypes.c_uint64 * 4)(ctypes.addressof(data), len(text), len(text), 0), data


def _old_string(text):
    """A `std::string` of the old ABI: a pointer to characters after size, capacity and a count."""
    header = struct.pack("<QQi4x", len(text), len(text), 1)
    data = ctypes.create_string_buffer(header + text)
    return ctypes.c_uint64(ctypes.addressof(data) + len(header)), data


def main():
    wrapper, package, ops = sys.argv[1:]
    libraries = loaded(package)
    with open(ops) as file:
        listed = allow_list(libraries, file.read().split())
    text = Wrapper(wrapper).text(flex_model(), allocate=True)
    print(json.dumps({"flex": listed, "linked": text is None, "text": text}))


if __name__ == "__main__":
    main()
