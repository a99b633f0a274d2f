"""Build models with a real TensorFlow: `python build_models.py FOLDER MODULE NAME…`

MODULE is one of the files `models*.py` here. Each NAME is a function of it, which saves its model at a path.
"""

import sys
from importlib import import_module

import keras
from making import SEED


def main(folder: str, module: str, *names: str) -> None:
    makers = import_module(module)
    for name in names:
        keras.utils.clear_session()  # names must not depend on what was made before
        keras.utils.set_random_seed(SEED)
        getattr(makers, name)(f"{folder}/{name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
