"""From the start of a process to its end, after it has printed a checksum, in Dr.Jit: `start.py drjit [--only ROW]`.

Prints the rows P01 as the benchmark `rows` does, with the same programs and inputs. An *empty* process is one that imports
the same packages and ends. Needs numpy and drjit, and `DRJIT_LIBLLVM_PATH` where Dr.Jit does not find LLVM by itself.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

WIDTH = 1024
# Operations, repeats and checksum of each row.
ROWS = {"P01.50": (50, 15, 19748.52), "P01.500": (500, 11, 5614.346), "P01.5000": (5000, 7, 21194.11)}
MASK = 0xFFFFFFFF


def hash32(x):
    x = (x ^ x >> 16) * 0x7FEB352D & MASK
    x = (x ^ x >> 15) * 0x846CA68B & MASK
    return x ^ x >> 16


def u01(index, seed):
    """A number in [0, 1) with 24 random bits."""
    return (hash32(index + seed * 0x9E3779B9 & MASK) >> 8) / 16777216


def program(dr, x, operations, seed):
    """The program of `rows/program.rs`."""
    r = [x * (1 / (k + 1)) for k in range(8)]
    for t in range(operations):
        h = hash32(t + seed * 0x9E3779B9 & MASK)
        operation, d, b = h % 6, h >> 8 & 7, h >> 11 & 7
        c, e = (0.5 * u01(t, 2 * seed + k) for k in (101, 102))
        r[d] = (
            dr.fma(r[d], c, e) if operation == 0 else
            dr.minimum(r[d], r[b]) if operation == 1 else
            dr.maximum(r[d], r[b]) if operation == 2 else
            r[d] * r[b] if operation == 3 else
            dr.fma(-r[d], r[b], r[d]) if operation == 4 else
            dr.sqrt(r[d])
        )
    return ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))


def checksum(values):
    import numpy as np
    values = np.asarray(values, np.float64)
    return float((values.reshape(-1, 16) @ np.arange(1, 17, dtype=np.float64)).sum())


def child(operations):
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float
    if operations > 0:
        x = Float(np.array([u01(i, 1) for i in range(WIDTH)], np.float32))
        print(checksum(program(dr, x, operations, 1).numpy()))


def run(operations, folder):
    """Milliseconds that a process takes, and what it prints."""
    begin = time.perf_counter()
    output = subprocess.run(
        [sys.executable, __file__, "--child", str(operations)],
        env={**os.environ, "DRJIT_CACHE_DIR": folder}, check=True, capture_output=True, text=True,
    ).stdout
    return (time.perf_counter() - begin) * 1e3, output.strip()


def measure(row, operations, repeats, expected):
    def checked(folder):
        milliseconds, printed = run(operations, folder)
        if abs(float(printed) - expected) > 1e-4 * expected:
            raise SystemExit(f"{row}: {printed} instead of {expected}")
        return milliseconds

    cold, warm, empty = [], [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(checked(folder))
    with tempfile.TemporaryDirectory() as folder:
        checked(folder)
        for _ in range(2 * repeats):
            empty.append(run(0, folder)[0])
            warm.append(checked(folder))
    cold, warm, empty = map(statistics.median, (cold, warm, empty))
    for metric, value in (("cold", cold), ("warm", warm), ("empty", empty), ("warm over empty", warm - empty)):
        print(json.dumps({"workload": row, "metric": metric, "value": value, "unit": "ms"}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("system", nargs="?", choices=["drjit"])
    parser.add_argument("--only", default="")
    parser.add_argument("--child", type=int)
    arguments = parser.parse_args()
    if arguments.child is not None:
        return child(arguments.child)
    for row, values in ROWS.items():
        if arguments.only in ("", "P01", row):
            measure(row, *values)


main()
