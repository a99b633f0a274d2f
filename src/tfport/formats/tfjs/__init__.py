"""TensorFlow.js graph models: model.json and its weights."""
