"""What the Python test programs need of CUDA: some work on the GPU whose result is nothing."""
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
libc = ctypes.CDLL(None)
kernel = ctypes.c_void_p()
context = ctypes.c_void_p()


def check(result):
    if result != 0:
        raise RuntimeError("CUDA error %d" % result)


def begin(kernels):
    module = ctypes.c_void_p()
    device = ctypes.c_int()
    check(cuda.cuInit(0))
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    use_on_this_thread()
    with open(kernels, "rb") as file:
        check(cuda.cuModuleLoadData(ctypes.byref(module), file.read() + b"\0"))
    check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"busy_for"))


def use_on_this_thread():
    check(cuda.cuCtxSetCurrent(context))


def work():
    ns = ctypes.c_uint64(300_000)
    arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(ns), ctypes.c_void_p))
    check(cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, arguments, None))
