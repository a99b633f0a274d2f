/* The other one. */
double acme_inner(double x) { return 3 * x; }
