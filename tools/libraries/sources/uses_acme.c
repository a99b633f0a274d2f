/* A part of an op library that calls a library of its author's. */
double acme_scale(double x);

double acme_twice(double x) { return acme_scale(2 * x); }
