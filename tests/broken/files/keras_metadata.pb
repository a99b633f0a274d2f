
root"_tf_keras_model*{}