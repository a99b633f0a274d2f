"""Look up what a package contains or requires: modules, names of Python, NumPy versions, headers."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from tfport.atlas.package_dates import numpy_with
from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.explain.builds import numpy, own_keras
from tfport.explain.lookup import Meaning, MessageMatch

PACKAGES = {
    "tf_slim": "tf-slim", "tensorflow_addons": "tensorflow-addons", "tensorflow_hub": "tensorflow-hub",
    "tensorflow_text": "tensorflow-text", "tensorflow_probability": "tensorflow-probability",
    "tensorflow_datasets": "tensorflow-datasets", "tflite_runtime": "tflite-runtime", "cv2": "opencv-python",
    "sklearn": "scikit-learn", "skimage": "scikit-image", "PIL": "pillow", "yaml": "pyyaml",
}  # fmt: skip
"""The packages of modules whose name differs."""
INSTALLED = ("site-packages", "dist-packages")


def module(match: MessageMatch, target: Target | None) -> Meaning | None:
    """What to install for a module, if its package has another name or must be of a certain version."""
    name = match.names["module"].partition(".")[0]
    if match.is_cut or name == "__main__":
        return None
    if name == "keras":
        inside = "use the Keras inside TensorFlow (1.4 or later): `from tensorflow import keras`"
        meaning = own_keras(match, target)
        return Meaning(meaning.facts, [inside, *meaning.ways_out], meaning.on_target)
    package = PACKAGES.get(name)
    return Meaning(ways_out=[f"python -m pip install {package}"]) if package else Meaning()


def own_file(match: MessageMatch, target: Target | None) -> Meaning | None:
    """Meaning() if the file is not one of an installed package."""
    path = match.names.get("path", "")
    return None if any(folder in path for folder in INSTALLED) else Meaning()


def own_or_other_module(match: MessageMatch, target: Target | None) -> Meaning | None:
    """Whether a file of the program has the name of the module; otherwise its version is another one."""
    if match.is_cut or not match.is_quoted(match.names["name"]):
        return None
    name = match.names["module"]
    package = name.partition(".")[0]
    own = [
        path
        for path in re.findall(rf"File ['\"]([^'\"]{{0,300}}\b{re.escape(package)}\.py)['\"]", match.before)
        if not any(folder in path for folder in INSTALLED)
    ]
    if own:
        return Meaning(
            [f"The file {own[-1]} has the name of the package, so that `import` finds it instead."],
            ["rename the file, and delete its `__pycache__`"],
        )
    if package in sys.stdlib_module_names:
        return Meaning(
            [
                f"{package} belongs to Python itself: the code, or a pickled file that it loads, is for "
                "another version of Python, or a file of yours has its name."
            ],
            [
                f"`python -c 'import sys, {package}; print(sys.version, {package}.__file__)'` shows both",
                "use the Python that the code was made for, or that wrote the file",
            ],
        )
    return Meaning(
        [
            "The code was written for another version of the package, or for another package of a similar "
            "name; a package that it takes the name from is missing or of another release; or a file of "
            "yours has its name."
        ],
        [
            f"`python -c 'import {package}; print({package}.__file__)'` shows which file is imported",
            f"install the version of {PACKAGES.get(package, package)} that the code was made for, or change"
            " the code; if the last file of the traceback is of another package, install the version of that "
            "one that fits",
        ],
    )


# Requirements that contradict each other, in a report of pip.

LIMITS = r"(?:[<>=!~]=?[\w.*]+(?:(?: and |, ?)[<>=!~]=?[\w.*]+)*)"
DEPENDS = re.compile(rf"([\w.-]+(?:\[[\w,-]+\])?) (\d[\w.]*) depends on ([\w.-]+)(?:\[[\w,-]+\])?({LIMITS})")
REQUESTED = re.compile(rf"The user requested ([\w.-]+)(?:\[[\w,-]+\])?({LIMITS})")
MOST = 8
CONFLICT = [
    "install the packages in one command and a new environment, so that pip can choose versions that fit",
    "`pip check` then lists requirements that are not met",
]


def conflict(match: MessageMatch, target: Target | None) -> Meaning:
    """Which package requires what, if the message says so."""
    names = match.names
    if "other" not in names:
        return _resolution(match.before + match.text)
    have = f"{names['have']} is installed" if "have" in names else "it is not installed"
    return Meaning(
        [f"{names['package']} {names['version']} needs {names['other']}{names['wanted']}, and {have}."],
        [
            f"pip install '{names['other']}{names['wanted']}', or another version of {names['package']}",
            *CONFLICT,
        ],
    )


def _resolution(report: str) -> Meaning:
    """The requirements in the list below `The conflict is caused by`."""
    requests = list(dict.fromkeys(REQUESTED.findall(report)))
    needs = list(dict.fromkeys(DEPENDS.findall(report)))
    facts = [f"{package} {version} needs {other}{limits}." for package, version, other, limits in needs]
    facts += [f"You ask for {package}{limits}." for package, limits in requests]
    shared = {other for _, _, other, _ in needs} & {package for package, _ in requests}
    ways = [
        f"remove the version of {package} from your requirements, so that pip can choose one that all accept"
        for package in sorted(shared)
    ]
    if needs and not shared:
        ways = ["change the version of one of these packages, and leave the others to pip"]
    return Meaning(facts[:MOST], [*ways, *CONFLICT])


# Names that a version of Python removed or added.

MODULES = ("inspect", "collections", "asyncio", "pkgutil", "fractions", "time", "typing")
REMOVED = {
    "3.10": (
        "collections.Mapping collections.MutableMapping collections.Iterable collections.Iterator "
        "collections.Sequence collections.MutableSequence collections.Set collections.MutableSet "
        "collections.Callable collections.Hashable collections.Sized collections.Container"
    ),
    "3.11": "inspect.getargspec inspect.formatargspec asyncio.coroutine",
    "3.12": "pkgutil.ImpImporter pkgutil.ImpLoader distutils imp asyncore asynchat smtpd",
    "3.9": "fractions.gcd",
    "3.8": "time.clock",
    "3.13": "cgi crypt imghdr telnetlib",
}
"""What each version of Python removed."""
ADDED = {
    "3.8": "typing.Literal typing.Final typing.Protocol typing.TypedDict",
    "3.10": "typing.ParamSpec typing.TypeAlias typing.TypeGuard typing.Concatenate",
    "3.11": "typing.Self typing.Never typing.NotRequired typing.Required typing.Unpack typing.LiteralString",
    "3.12": "typing.override typing.TypeAliasType",
}
"""What each version of Python added."""


def removed_name(match: MessageMatch, target: Target | None) -> Meaning | None:
    """Which version of Python removed or added the name; None if it is no such name."""
    name = _full_name(match)
    for version, names in REMOVED.items():
        if name in names.split():
            return Meaning(
                [f"Python {version} removed {name}."],
                [
                    "upgrade the package in the last file of the traceback, or TensorFlow",
                    f"or a Python before {version}: `tfport targets show TARGET` lists those of a release",
                    *(["or pip install setuptools, which contains distutils"] if name == "distutils" else []),
                ],
            )
    for version, names in ADDED.items():
        if name in names.split():
            return Meaning(
                [f"Python has {name} since {version}."],
                [f"use Python {version} or later, or an older version of the package in the traceback"],
            )
    return None


def _full_name(match: MessageMatch) -> str:
    if "module" in match.names:
        return match.names["module"].partition(".")[0]
    module = next(module for module in MODULES if module in match.quote)
    return f"{module}.{match.names['name']}"


# Which NumPy is older, from the sizes in a message: that of the package or the installed one.

DESCRIPTOR = "dtype"
NUMPY_1, NUMPY_2 = 96, 88
"""The size of numpy.dtype in NumPy 1.23 to 1.26, and since 2.0; other types only grew."""
OLD_INSTALLED = (
    "upgrade NumPy as far as TensorFlow allows it; otherwise install an older version of the package"
)
NEW_INSTALLED = "install that package again, or a newer version, so that it fits the installed NumPy"


def which_is_older(match: MessageMatch, target: Target | None) -> Meaning:
    """Whether to move NumPy up or down; no facts if the message has no sizes."""
    if "compiled" not in match.names:
        return Meaning()
    compiled, installed = int(match.names["compiled"]), int(match.names["installed"])
    if match.names["what"] == DESCRIPTOR and (compiled, installed) == (NUMPY_1, NUMPY_2):
        return Meaning(
            ["The package was compiled for NumPy 1, and NumPy 2 is installed."],
            ["pip install {pip:numpy<2}", "or upgrade the package to a version for NumPy 2"],
        )
    if match.names["what"] == DESCRIPTOR and (compiled, installed) == (NUMPY_2, NUMPY_1):
        return Meaning(
            ["The package was compiled for NumPy 2, and NumPy 1 is installed."],
            ["install an older version of the package, or NumPy 2 if TensorFlow allows it"],
        )
    if compiled > installed:
        return Meaning(
            ["The package was compiled for a newer NumPy than the installed one: the type is larger there."],
            [OLD_INSTALLED],
        )
    return Meaning(["The package was compiled for an older NumPy than the installed one."], [NEW_INSTALLED])


HEX = re.compile(r"0x[0-9a-fA-F]{1,8}\.?$")


def numpy_numbers(match: MessageMatch, target: Target | None) -> Meaning:
    """Which NumPy the numbers of its C interface stand for, and which one to install."""
    if "wanted" not in match.names:
        return numpy(match, target)
    number = "abi" if "ABI" in match.quote else "api"
    wanted, have = (_numpy_with(number, match.names[name]) for name in ("wanted", "have"))
    facts = [
        f"{number.upper()} version {match.names[name].rstrip('.')} is NumPy {_from_to(versions)}."
        for name, versions in (("wanted", wanted), ("have", have))
        if versions
    ]
    if not wanted or not have:
        return Meaning(facts)
    if version_key(wanted[0]) < version_key(have[0]):
        return Meaning(
            ["A compiled package was built for an older NumPy than the installed one.", *facts],
            [f"pip install {{pip:numpy<{have[0]}}}", "or upgrade the package in the traceback"],
            replaces=True,
        )
    major = version_key(wanted[0]).major
    return Meaning(
        ["A compiled package was built for a newer NumPy than the installed one.", *facts],
        [
            f"pip install {{pip:numpy>={wanted[0]},<{major + 1}}}",
            "or install a version of the package in the traceback that was built for the installed NumPy",
            "if another NumPy is found first (of the system, of conda), remove it or use a new environment",
        ],
        replaces=True,
    )


def _numpy_with(number: str, value: str) -> list[str]:
    return numpy_with(number, value.rstrip(".")) if HEX.match(value) else []


def _from_to(versions: Sequence[str]) -> str:
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


# Headers that a compiler does not find.

FLAGS = "compile with the flags of `tf.sysconfig.get_compile_flags()`, which name TensorFlow's own headers"
OWNERS: dict[tuple[str, ...], tuple[str, list[str]]] = {
    ("tensorflow/c/", "tensorflow/lite/c/"): (
        "It is a header of TensorFlow's C library.",
        [
            "download libtensorflow, which has it in `include`, and compile with `-I FOLDER/include`",
            f"for custom ops, {FLAGS}",
        ],
    ),
    ("tensorflow/cc/",): (
        "It is a header of TensorFlow's C++ interface, which is only partly in the Python package.",
        ["build TensorFlow from source (`//tensorflow:libtensorflow_cc.so`, `//tensorflow:install_headers`)"],
    ),
    ("tensorflow/",): (
        "It is a header of TensorFlow: the command does not name its folder, or this release lacks it.",
        [FLAGS, "if the header is not in that folder, the code was written for another release"],
    ),
    ("nsync", "third_party/eigen3/", "unsupported/Eigen/", "Eigen/", "absl/", "google/protobuf/"): (
        "It is a header of a library that TensorFlow's own headers include; the Python package has it.",
        [FLAGS, "TensorFlow 1.3 and 1.4 need `-I$TF_INC/external/nsync/public` in addition"],
    ),
    ("third_party/gpus/cuda/", "cuda", "cudnn", "cublas"): (
        "It is a CUDA or cuDNN header.",
        [
            "install the CUDA toolkit of the release (`tfport targets show TARGET`), and add "
            "`-I /usr/local/cuda/include`",
            "old code includes `third_party/gpus/cuda/include/…` or `cuda/include/…`: make a link of that "
            "name to the folder of CUDA, or change the include",
        ],
    ),
}  # fmt: skip
"""What a header belongs to, by the beginning of its name: the first that matches counts."""


def missing(match: MessageMatch, target: Target | None) -> Meaning | None:
    """What the header belongs to; None if it is not one of TensorFlow or of what it needs."""
    header = match.names["header"].lstrip("<")
    for beginnings, (owner, ways) in OWNERS.items():
        if header.startswith(beginnings):
            return Meaning([owner], ways)
    return None
