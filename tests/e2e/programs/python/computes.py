"""The interpreter works between two kernels, in a function that calls no driver. Usage: computes.py KERNELS.PTX"""
import sys
import time

sys.dont_write_bytecode = True
import gpu_work  # noqa: E402


def count_of_primes(limit):
    found = 0
    for candidate in range(2, limit):
        if all(candidate % divisor for divisor in range(2, int(candidate**0.5) + 1)):
            found += 1
    return found


def step():
    gpu_work.work()
    return count_of_primes(5000)


gpu_work.begin(sys.argv[1])
while time.process_time() < 1:
    found = step()
print(found)
