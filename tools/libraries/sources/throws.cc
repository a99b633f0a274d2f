// A library that fails before its ops are registered.
#include <stdexcept>

struct Setup {
  Setup() { throw std::runtime_error("no licence for Acme"); }
} setup;
