// Libraries that cannot be loaded, or register nonsense: one for each -DHOW.
#include <tfport/op.h>

#include <cstdlib>

#define THROWS 1
#define ABORTS 2
#define EXITS 3
#define LACKS_A_SYMBOL 4
#define HAS_A_BAD_SPEC 5
#define HAS_A_BAD_CONSTRAINT 6
#define HAS_NO_OP 7
#define REGISTERS_NOTHING 8
#define HAS_A_BAD_TYPE 9

#if HOW != REGISTERS_NOTHING
void kernel(tfport::Context& c) { c.output<float>(0, {}); }
#endif

#if HOW == THROWS
static const int first = [] { throw std::runtime_error("no licence found"); return 1; }();
#elif HOW == ABORTS
static const int first = [] { std::abort(); return 1; }();
#elif HOW == EXITS
static const int first = [] { std::exit(0); return 1; }();
#elif HOW == LACKS_A_SYMBOL
namespace acme { int missing(int); }
static const int first = std::getenv("ACME") ? acme::missing(1) : 0;
#endif

#if HOW == HAS_A_BAD_SPEC
TFPORT_OP("Native>Broken: (x: T) -> y: float");
#elif HOW != HAS_NO_OP && HOW != REGISTERS_NOTHING
TFPORT_OP("Native>Broken: () -> y: T; T: {float, double}");
#endif
#if HOW == HAS_A_BAD_CONSTRAINT
TFPORT_KERNEL(Native>Broken, "float", kernel);
#elif HOW == HAS_A_BAD_TYPE
TFPORT_KERNEL(Native>Broken, "T=flaot", kernel);
#elif HOW != REGISTERS_NOTHING
TFPORT_KERNEL(Native>Broken, "", kernel);
#endif
