"""Read a Keras file of any layout; its content decides, not its name.

`read_keras(files, name)` returns a `KerasFile`: the configuration as it is stored, and the weights to
read on request. Nothing is executed, imported or unpickled, and no link is followed.
"""

from __future__ import annotations

import posixpath

from tfport.errors import NotAModel
from tfport.formats.files import Files
from tfport.formats.hdf5.file import SIGNATURE, open_hdf5
from tfport.formats.keras.archive import CONFIG, METADATA, WEIGHTS, read_archive
from tfport.formats.keras.h5_file import read_h5
from tfport.formats.keras.records import KerasFile

ZIP = b"PK\x03\x04"


def read_keras(files: Files, name: str) -> KerasFile:
    """The Keras model, architecture or weights in a file."""
    data = files.map(name)
    label = files.label(name)
    if bytes(data[:8]) == SIGNATURE:
        return read_h5(open_hdf5(data, label))
    if bytes(data[:4]) == ZIP:
        from tfport.formats.archive.zip import zip_files

        return read_archive(zip_files(data, label))
    if posixpath.basename(name) == CONFIG and (files.has(METADATA) or files.has(WEIGHTS)):
        return read_archive(files)
    raise NotAModel(f"{label}: expected a Keras model, architecture or weights, found something else")
