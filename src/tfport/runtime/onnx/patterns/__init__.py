"""What several nodes of an island say together, said in one that the engine has a kernel for."""
