"""A wait that nobody needs, behind each step."""
import cupy


def step(a):
    b = a * 2 + 1
    cupy.cuda.Device().synchronize()  # PLANTED: step
    return b


def main():
    a = cupy.zeros(1 << 20, dtype=cupy.float32)
    for _ in range(200):
        step(a)


main()
