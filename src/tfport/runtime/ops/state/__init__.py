"""Variables, queues, stacks and mutexes."""
