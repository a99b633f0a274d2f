"""How long does a model take here, and beside TensorFlow where that is installed?"""
