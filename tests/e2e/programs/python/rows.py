"""A function goes through rows, and reads back a number for each. Usage: rows.py KERNELS.PTX"""
import ctypes
import sys

sys.dont_write_bytecode = True
import gpu_work  # noqa: E402
from gpu_work import cuda  # noqa: E402


def look_at_rows(memory):
    large = 0
    for _ in range(3):
        gpu_work.work()
        value = ctypes.c_uint(1)
        gpu_work.check(cuda.cuMemcpyDtoH_v2(ctypes.byref(value), memory, ctypes.c_size_t(4)))
        if value.value > 7:
            large += 1
    return large


gpu_work.begin(sys.argv[1])
memory = ctypes.c_uint64()
gpu_work.check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096)))
gpu_work.check(cuda.cuMemsetD32_v2(memory, 9, ctypes.c_size_t(1024)))
total = 0
for _ in range(12):
    gpu_work.work()
    total += look_at_rows(memory)
print(total)
