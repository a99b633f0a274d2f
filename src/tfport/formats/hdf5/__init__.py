"""HDF5 files, as far as Keras writes them: read in place, with bounds, following no links."""
