/* A library that registers nothing. */
int acme_answer(void) { return 42; }
