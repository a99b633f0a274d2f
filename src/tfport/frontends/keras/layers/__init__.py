"""The layers of Keras by family; each module declares its layers with `@layer`."""
