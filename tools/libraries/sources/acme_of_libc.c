/* A library of the author's that needs libc. */
#include <stdlib.h>

double acme_scale(double x) { return getenv("ACME") ? x : 3 * x; }
