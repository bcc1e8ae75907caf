"""What programs of Python do that a reader of their frames must survive. Usage: odd.py KERNELS.PTX cells|daemons|fork"""
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
