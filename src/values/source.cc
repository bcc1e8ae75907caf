// libdiogenes-values.so: follows values behind their first touch, by single-stepping a few instructions of the thread that
// touched. It is preloaded in the run of stage 4 alone, and takes part in nothing but the signals that the agent hands it.
#include "trace/value_source.h"
#include "values/follower.h"

// The agent looks for it by name (trace/value_source.h).
extern "C" __attribute__((visibility("default"))) const diogenes::ValueSource diogenes_value_source = {
    sizeof(diogenes::ValueSource), diogenes::values::start,       diogenes::values::touched,
    diogenes::values::trap,        diogenes::values::system_call, diogenes::values::interrupted,
    diogenes::values::finish,      diogenes::values::forget,
};
