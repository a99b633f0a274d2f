"""What does a runtime know, and which kernel would run this node?"""
