/* A library that lacks a symbol that another library needs from it. */
double acme_shift(double x) { return 3 + x; }
