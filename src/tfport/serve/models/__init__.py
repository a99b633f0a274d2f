"""Which versions of which models are served: asked for, found on disk, loaded, withdrawn."""
