#!/bin/sh
# The entry point of the image, as in the image tensorflow/serving: serves $MODEL_BASE_PATH/$MODEL_NAME.
exec tensorflow_model_server --port=8500 --rest_api_port=8501 \
  --model_name="${MODEL_NAME:-model}" --model_base_path="${MODEL_BASE_PATH:-/models}/${MODEL_NAME:-model}" \
  "$@"
