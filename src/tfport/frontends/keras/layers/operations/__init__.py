"""Operations of Keras 3 that are nodes of models: `keras.ops`, by family; declared as `ops.Add`."""
