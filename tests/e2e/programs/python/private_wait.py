"""Waits through a private table of the driver, as NVIDIA's libraries do, then for results that nobody reads. Usage:
private_wait.py KERNELS.PTX"""
import ctypes
import sys

sys.dont_write_bytecode = True
import gpu_work  # noqa: E402
from gpu_work import check, cuda  # noqa: E402

BYTES = 65536


class Table(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("synchronize", ctypes.CFUNCTYPE(ctypes.c_int))]


gpu_work.begin(sys.argv[1])
table = ctypes.POINTER(Table)()
check(cuda.cuGetExportTable(ctypes.byref(table), b"diogenes-sim-tb1"))
host, device = ctypes.c_void_p(), ctypes.c_uint64()
check(cuda.cuMemAllocHost_v2(ctypes.byref(host), ctypes.c_size_t(BYTES)))
check(cuda.cuMemAlloc_v2(ctypes.byref(device), ctypes.c_size_t(BYTES)))
for _ in range(20):
    gpu_work.work()
    check(table.contents.synchronize())
    gpu_work.work()
    check(cuda.cuMemcpyDtoHAsync_v2(host, device, ctypes.c_size_t(BYTES), None))
    check(cuda.cuStreamSynchronize(None))
