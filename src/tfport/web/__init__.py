"""The server of `tfport ui`: pages over the JSON that the commands print."""
