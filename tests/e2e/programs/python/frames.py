"""Synchronizations that nobody needs, reached in the ways in which Python calls Python. Prints for each the frames that
the interpreter itself tells, as JSON: what a report must show. Usage: frames.py KERNELS.PTX [TIMES]"""
import asyncio
import ctypes
import functools
import json
import sys
import threading

sys.dont_write_bytecode = True
from gpu_work import begin, cuda, libc, use_on_this_thread, work  # noqa: E402

TIMES = int(sys.argv[2]) if len(sys.argv) > 2 else 8
noted = {}


def note(name):
    """What the interpreter says of its frames, from the caller's on; the stream to wait for."""
    frames = []
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        frames.append([code.co_filename, getattr(code, "co_qualname", code.co_name), frame.f_lineno])
        frame = frame.f_back
    noted[name] = frames
    return None


def plain():
    work()
    cuda.cuStreamSynchronize(note("plain"))


def on_one_line():
    work(), cuda.cuStreamSynchronize(note("first of a line")), work(), cuda.cuStreamSynchronize(note("second of a line"))


class Model:
    def __init__(self, name):
        self.name = name

    def forward(self):
        work()
        return cuda.cuStreamSynchronize(note(self.name))

    def __call__(self):
        return self.forward()


def generator():
    for _ in range(3):
        work()
        yield cuda.cuStreamSynchronize(note("generator"))


def recursive(depth):
    if depth > 0:
        return recursive(depth - 1)
    work()
    return cuda.cuStreamSynchronize(note("recursive"))


def compare(a, b):
    work()
    cuda.cuStreamSynchronize(note("callback"))
    return 0


def called_back():
    """C calls Python: two evaluators are on the stack."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    values = (ctypes.c_int * 2)(2, 1)
    libc.qsort(values, 2, ctypes.sizeof(ctypes.c_int), kind(compare))


async def inner():
    work()
    cuda.cuStreamSynchronize(note("coroutine"))


async def outer():
    await asyncio.sleep(0)
    await inner()


def on_a_thread():
    use_on_this_thread()
    for _ in range(TIMES):
        work()
        cuda.cuStreamSynchronize(note("thread"))


def in_a_thread():
    thread = threading.Thread(target=on_a_thread)
    thread.start()
    thread.join()


# Names and files that are not ASCII; code that comes from no file; twice the same code, as a notebook's cells are.
GENERATED = "def größe():\n    work()\n\n    cuda.cuStreamSynchronize(note('exec'))\ngröße()\n"


def scenes():
    plain()
    on_one_line()
    Model("method")()
    functools.partial(Model("partial"))()
    for _ in generator():
        pass
    recursive(200)
    called_back()
    [f() for f in [lambda: (work(), cuda.cuStreamSynchronize(note("lambda")))]]
    exec(compile(GENERATED, "/tmp/<zelle 1>/日本.py", "exec"), globals())


def main():
    begin(sys.argv[1])
    for _ in range(TIMES):
        scenes()
    loop = asyncio.new_event_loop()
    for _ in range(TIMES):
        loop.run_until_complete(outer())
    in_a_thread()
    print(json.dumps(noted))


main()
