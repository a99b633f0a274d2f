// A class derived from one of another source.
#include "scaler.h"

struct Doubler : Scaler {
  float scale(float x) const override { return 2 * x; }
};

extern "C" Scaler* acme_doubler() { return new Doubler; }
