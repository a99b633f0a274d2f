/* A library of the author's that calls another one. */
double acme_inner(double x);

double acme_scale(double x) { return acme_inner(x); }
