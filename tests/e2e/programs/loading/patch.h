// A jump of the program's own at the entry of a driver function, as UCX and others write it: the call arrives
// in replacement(), which puts the bytes back that it found, calls the function, and writes its jump again.
#pragma once

// Over whatever is there now. Returns false if the code cannot be made writable.
bool patch_allocation();

int patched_calls();
