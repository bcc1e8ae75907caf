"""What programs of Python do that a reader of their frames must survive. Usage: odd.py KERNELS.PTX cells|daemons|fork|use"""
import ctypes
import os
import sys
import threading

sys.dont_write_bytecode = True
import gpu_work  # noqa: E402
from gpu_work import cuda, work  # noqa: E402


def cells():
    """Code that is made and dropped again and again, as a notebook's is: it comes to lie where the code before it lay."""
    gpu_work.begin(sys.argv[1])
    for i in range(40):
        for _ in range(2):
            source = "\n" * i + "work()\ncuda.cuStreamSynchronize(None)\n"
            exec(compile(source, "/cells/%02d.py" % (i % 20), "exec"))


def daemons():
    """Threads that are in the middle of a call when the interpreter ends and takes their states away."""
    gpu_work.begin(sys.argv[1])
    started = threading.Semaphore(0)

    def busy():
        gpu_work.use_on_this_thread()
        cuda.cuStreamSynchronize(None)
        started.release()
        while True:
            cuda.cuStreamSynchronize(None)

    for _ in range(4):
        threading.Thread(target=busy, daemon=True).start()
    for _ in range(4):
        started.acquire()


def use():
    """What a copy brought is read by Python, some lines behind the wait."""
    gpu_work.begin(sys.argv[1])
    words = 1 << 14
    device, host = ctypes.c_uint64(), ctypes.c_void_p()
    gpu_work.check(cuda.cuMemAlloc_v2(ctypes.byref(device), ctypes.c_size_t(4 * words)))
    gpu_work.check(cuda.cuMemAllocHost_v2(ctypes.byref(host), ctypes.c_size_t(4 * words)))
    values = (ctypes.c_uint32 * words).from_address(host.value)
    for _ in range(4):
        work()
        gpu_work.check(cuda.cuMemcpyDtoHAsync_v2(host, device, ctypes.c_size_t(4 * words), None))
        cuda.cuStreamSynchronize(None)
        touch(values)


def touch(values):
    return values[5000] + 1


def in_child():
    gpu_work.begin(sys.argv[1])
    for _ in range(8):
        work()
        cuda.cuStreamSynchronize(None)


def fork():
    """Both use the GPU, each for itself."""
    child = os.fork()
    in_child()
    if child == 0:
        os._exit(7)
    status = os.waitpid(child, 0)[1]
    print(os.WEXITSTATUS(status))


globals()[sys.argv[2]]()
