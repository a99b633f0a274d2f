"""What the files of a model could do apart from its graph, and the tricks of archives. Findings 92x."""

from __future__ import annotations

from tfport.check.findings.finding import finding
from tfport.scan.risk import ERROR, RISK, WARNING, Risk


class FileRisk(Risk):
    """Something that a file is or has."""

    detail: str = ""


@finding("TFP920", "native-code", WARNING, noticed=RISK)
class NativeCode(FileRisk):
    """{subject} is {detail}

    ## Cause
    A model is data. A library or program runs with the rights of the process as soon as somebody
    loads or starts it, for example with `tf.load_op_library`.
    ## Fix
    Load it only if you trust whoever made it. `tfport lib FILE` shows what a library needs and
    registers.
    ## Example
        printf '\\x7fELF' > model.so
        tfport scan model.so
    """


@finding("TFP921", "pickle", WARNING, noticed=RISK)
class PickleFile(FileRisk):
    """{subject} is a Python pickle{detail}

    ## Cause
    Reading a pickle calls any function that it names, with any arguments. tfport lists the names
    without reading it as Python would.
    ## Fix
    Do not open it with `pickle`, `joblib`, `torch.load` or `numpy.load(allow_pickle=True)` unless
    you trust whoever made it.
    ## Example
        printf "cos\\nsystem\\n(S'id'\\ntR." > model.pkl
        tfport scan model.pkl
    """


@finding("TFP922", "script", WARNING, noticed=RISK)
class ScriptFile(FileRisk):
    """{subject} is {detail}

    ## Cause
    A program comes with the model. Nothing runs it when the model is loaded, but some tools import
    or start whatever they find next to a model.
    ## Fix
    Read it before you run it; the model does not need it.
    ## Example
        cp -r tests/models/half_plus_two_tf2 export
        echo '#!/bin/sh' > export/run.sh
        tfport scan export
    """


@finding("TFP923", "wrong-suffix", WARNING, noticed=RISK)
class WrongSuffix(FileRisk):
    """{subject} is {detail}, though its name says something else

    ## Cause
    Programs that go by the suffix, including scanners, take it for something it is not.
    ## Fix
    Do not open it until you know why.
    ## Example
        printf '\\x7fELF' > model.pb
        tfport scan model.pb
    """


@finding("TFP924", "two-formats", WARNING, noticed=RISK)
class TwoFormats(FileRisk):
    """{subject} is {detail} at the same time

    ## Cause
    The file begins in one format, and ends or continues in another. Programs differ in what they
    see in it.
    ## Fix
    Do not open it until you know why.
    ## Example
        head -c 512 /dev/zero > model.h5
        printf '\\x89HDF\\r\\n\\x1a\\n' >> model.h5
        tfport scan model.h5
    """


@finding("TFP925", "archive-path", ERROR, noticed=RISK)
class ArchivePath(FileRisk):
    """{subject} has the member `{detail}`, which would be unpacked outside the folder

    ## Cause
    A name with `..`, a leading slash or a drive letter leads to another folder, where unpacking
    overwrites files. Keras unpacks archives while it loads them.
    ## Fix
    Do not load or unpack the file.
    ## Example
        mkdir a
        touch x
        cd a
        tar -cPf model.tar ../x
        tfport scan model.tar
    """


@finding("TFP926", "outside-link", ERROR, noticed=RISK)
class OutsideLink(FileRisk):
    """{subject} is a link to `{detail}`, outside of the model

    ## Cause
    A program that reads this entry reads the file that the link points to; unpacking an archive may
    also write there.
    ## Fix
    Do not load or unpack it where such a file exists. Replace the link with the file itself.
    ## Example
        ln -s /etc/passwd vocabulary.txt
        tar -cf model.tar vocabulary.txt
        tfport scan model.tar
    """


@finding("TFP927", "ambiguous-archive", WARNING, noticed=RISK)
class AmbiguousArchive(FileRisk):
    """{subject} {detail}: programs differ in what they read

    ## Cause
    A scanner may look at one member, and the program that loads the model at another.
    ## Fix
    Do not load the file.
    ## Example
        touch x
        tar -cf model.tar x
        tar -rf model.tar x
        tfport scan model.tar
    """


@finding("TFP928", "archive-bomb", WARNING, noticed=RISK)
class ArchiveBomb(FileRisk):
    """{subject} {detail}

    ## Cause
    The archive is small to send, but fills the memory or the disk when it is unpacked.
    ## Fix
    Do not unpack it.
    ## Example
        printf "\\x93NUMPY\\x01\\x00\\x32\\x00{'descr': '<f4', 'shape': (99999999999,), }" > w.npy
        tfport scan w.npy
    """


@finding("TFP929", "not-scanned", WARNING, noticed=RISK)
class NotScanned(FileRisk):
    """{subject} was not scanned: {detail}

    ## Cause
    The content is encrypted or damaged, exceeds a limit, or has a format that tfport does not open.
    It could contain anything.
    ## Fix
    Unpack it and scan the result.
    ## Example
        printf '7z\\xbc\\xaf\\x27\\x1c' > model.7z
        tfport scan model.7z
    """
