/* A library of the author's. */
double acme_scale(double x) { return 3 * x; }
