"""Model versions: configure, find, load, serve and unload them."""
