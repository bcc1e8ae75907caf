// A library that calls a function of the program that loads it, as a driver calls a lock function.
extern "C" int subject();
extern "C" __attribute__((visibility("default"))) int call_subject() { return subject(); }
