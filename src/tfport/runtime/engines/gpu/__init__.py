"""Islands on a GPU: which GPUs there are, tensors in their memory, and ONNX Runtime's providers for them."""
