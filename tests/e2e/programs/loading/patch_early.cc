// A library whose constructor patches the driver, before the program's own constructors and before those of
// preloaded libraries that the driver's users do not depend on.
#include "patch.h"

__attribute__((constructor)) static void patch_early() { patch_allocation(); }
