"""Read a Keras file of any layout; its content decides, not its name.

`read_keras(files, name)` returns a `KerasFile`: the configuration as it is stored, and the weights to
read on request. Nothing is executed, imported or unpickled, and no link is followed.
"""

from __future__ import annotations

import posixpath

from tfport.formats.files import Files
from tfport.formats.hdf5.file import SIGNATURE, open_hdf5
from tfport.formats.keras.architecture import read_architecture
from tfport.formats.keras.archive import CONFIG, read_archive, read_weights_list
from tfport.formats.keras.h5_file import read_h5
from tfport.formats.keras.records import KerasFile
from tfport.formats.keras.signature import ZIP, is_archive, is_list_of_weights
from tfport.formats.sample import Sample
from tfport.formats.tfjs.signature import is_layers_model


def read_keras(files: Files, name: str) -> KerasFile:
    """The Keras model, architecture or weights in a file."""
    data = files.map(name)
    label = files.label(name)
    if bytes(data[:8]) == SIGNATURE:
        return read_h5(open_hdf5(data, label))
    if bytes(data[:4]) == ZIP:
        from tfport.formats.archive.zip import zip_files

        return read_archive(zip_files(data, label))
    sample = Sample(files, name)
    if posixpath.basename(name) == CONFIG and is_archive(sample):
        return read_archive(files.under(posixpath.dirname(name)))
    if is_list_of_weights(sample):
        return read_weights_list(files, name)
    if is_layers_model(sample):
        from tfport.formats.keras.layers_model import (
            read_layers_model,  # imported here, as few models need it
        )

        return read_layers_model(files, name)
    return read_architecture(files, name)
