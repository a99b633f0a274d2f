/* A symbol that may be missing. */
__attribute__((weak)) double acme_scale(double x);

double acme_twice(double x) { return acme_scale ? acme_scale(2 * x) : 2 * x; }
