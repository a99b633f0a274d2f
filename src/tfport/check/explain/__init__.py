"""What does an error message, or a log full of them, mean? Answered from the atlas."""
