/* A program. */
int main(void) { return 0; }
