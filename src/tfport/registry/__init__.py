"""What does a runtime register, and which kernel would run a node?"""
