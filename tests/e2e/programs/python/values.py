"""A training loop as many are: each step's loss becomes a float of Python and is kept in a list; the list is printed at the
end. Usage: values.py KERNELS.PTX"""
import ctypes
import sys
import time

sys.dont_write_bytecode = True
import gpu_work  # noqa: E402
from gpu_work import check, cuda  # noqa: E402

host, device, fill = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
BYTES = 65536


def step():
    bits, words, ns = ctypes.c_uint32(0x3F400000), ctypes.c_uint64(BYTES // 4), ctypes.c_uint64(1_000_000)
    arguments = (ctypes.c_void_p * 4)(*(ctypes.addressof(one) for one in (device, bits, words, ns)))
    check(cuda.cuLaunchKernel(fill, 8, 1, 1, 128, 1, 1, 0, None, arguments, None))
    check(cuda.cuMemcpyDtoHAsync_v2(host, device, ctypes.c_size_t(BYTES), None))
    check(cuda.cuStreamSynchronize(None))


def loss():
    return ctypes.c_float.from_address(host.value).value


def busy():
    end = time.monotonic() + 0.0005
    while time.monotonic() < end:
        pass


def train():
    losses = []
    for _ in range(30):
        step()
        losses.append(loss())
        busy()
    return losses


def tell(losses):
    return " ".join("%.2f" % one for one in losses)


gpu_work.begin(sys.argv[1])
module = ctypes.c_void_p()
with open(sys.argv[1], "rb") as file:
    check(cuda.cuModuleLoadData(ctypes.byref(module), file.read() + b"\0"))
check(cuda.cuModuleGetFunction(ctypes.byref(fill), module, b"fill"))
check(cuda.cuMemAllocHost_v2(ctypes.byref(host), ctypes.c_size_t(BYTES)))
check(cuda.cuMemAlloc_v2(ctypes.byref(device), ctypes.c_size_t(BYTES)))
print(tell(train()))
