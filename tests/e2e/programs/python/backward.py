"""A thread that works while the main thread waits for it, as PyTorch's backward threads do. Usage: backward.py KERNELS.PTX"""
import _thread
import sys

sys.dont_write_bytecode = True
import gpu_work  # noqa: E402
from gpu_work import cuda, libc  # noqa: E402

begin, end = _thread.allocate_lock(), _thread.allocate_lock()

# In a file of the name, and by the name, in which PyTorch starts its engine and waits for it.
ENGINE = "def _engine_run_backward():\n    begin.release()\n    end.acquire()\n"
exec(compile(ENGINE, "/site-packages/torch/autograd/graph.py", "exec"))


def on_engine_thread():
    libc.prctl(15, b"pt_autograd_0", 0, 0, 0)
    gpu_work.use_on_this_thread()
    while True:
        begin.acquire()
        gpu_work.work()
        cuda.cuStreamSynchronize(None)
        end.release()


def train():
    _engine_run_backward()  # noqa: F821


def refine():
    _engine_run_backward()  # noqa: F821


gpu_work.begin(sys.argv[1])
begin.acquire(), end.acquire()
_thread.start_new_thread(on_engine_thread, ())
for _ in range(20):
    gpu_work.work()
    cuda.cuStreamSynchronize(None)
    train()
    refine()
