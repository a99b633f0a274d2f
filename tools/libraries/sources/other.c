/* A library of the author's that has not what is asked of it. */
double acme_shift(double x) { return 3 + x; }
