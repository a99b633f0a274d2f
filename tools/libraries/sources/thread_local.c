/* More thread-local memory than a loader has left once a program runs. */
static __thread char scratch[1 << 20];

char* acme_scratch(int i) { return &scratch[i]; }
