// The text of sim/kernels.ptx, ended by a zero byte, for programs that load it with cuModuleLoadData without
// a file. Target: diogenes_kernels_ptx.
#pragma once

#ifdef __cplusplus
extern "C" const char diogenes_kernels_ptx[];
#else
extern const char diogenes_kernels_ptx[];
#endif
