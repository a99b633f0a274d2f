// The op a second time: a source that was copied, or linked twice.
#include "op.cc"
