"""Contestants from Python: numpy, numba, JAX and torch, as far as they can be imported.

    python3 contestants.py THREADS

Prints a line for each job and contestant: job, contestant, median in milliseconds, separated by tabs. Every answer is
checked against numpy in double precision. Nothing is installed; what is missing is left out, and without numpy
the program ends with an error that says so.
"""

import os
import sys
import time

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 2
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, str(THREADS))

import numpy as np  # noqa: E402  (the threads must be known before)

REPETITIONS = 15


def imported(name):
    try:
        return __import__(name)
    except ImportError:
        return None


numba, jax, torch = imported("numba"), imported("jax"), imported("torch")
if torch:
    torch.set_num_threads(THREADS)


def random(shape, low, high, seed):
    values = np.random.default_rng(seed).random(shape, dtype=np.float32)
    return (low + (high - low) * values).astype(np.float32)


def median(run):
    run()
    times = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2] * 1e3


def enter(job, contestant, run, expected, rtol=1e-3, atol=1e-3):
    """Checks and times one contestant; a wrong one is told on the error stream and not timed."""
    if not np.allclose(np.asarray(run(), dtype=np.float64), expected, rtol=rtol, atol=atol):
        print(f"{contestant} is wrong about {job}", file=sys.stderr)
        return
    print(f"{job}\t{contestant}\t{median(run):.4f}", flush=True)


def with_jax(job, f, inputs, expected):
    if jax:
        compiled = jax.jit(f)
        arrays = [jax.device_put(x) for x in inputs]
        enter(job, "JAX", lambda: compiled(*arrays).block_until_ready(), expected)


def with_torch(job, f, inputs, expected):
    if torch:
        arrays = [torch.from_numpy(x) for x in inputs]
        enter(job, "torch", lambda: f(*arrays), expected)


def everywhere(job, numpy_run, inputs, jax_f, torch_f):
    """numpy with its own outputs, JAX compiled, torch eager."""
    expected = numpy_run(*[x.astype(np.float64) for x in inputs])
    enter(job, "numpy", lambda: numpy_run(*inputs), expected)
    with_jax(job, jax_f, inputs, expected)
    with_torch(job, torch_f, inputs, expected)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def black_scholes(m, abs_, where):
    """Call prices with the functions of a module."""

    def price(s, x, t):
        def normcdf(d):
            a = abs_(d)
            k = 1 / (1 + 0.2316419 * a)
            q = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
            w = 1 - 0.39894228 * m.exp(-a * a / 2) * q
            return where(d < 0, 1 - w, w)

        v = 0.30 * m.sqrt(t)
        d1 = (m.log(s / x) + (0.02 + 0.30 * 0.30 / 2) * t) / v
        return s * normcdf(d1) - x * m.exp(-0.02 * t) * normcdf(d1 - v)

    return price


def heat(pad):
    def step(u):
        p = pad(u)
        return u + 0.1 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u)

    return step


def with_numba(x, y):
    """Loops, where numba is."""
    if not numba:
        return

    @numba.njit(parallel=True)
    def saxpy(a, x, y, z):
        for i in numba.prange(x.size):
            z[i] = a * x[i] + y[i]

    @numba.njit(parallel=True)
    def mandelbrot(n, z):
        for i in numba.prange(n):
            for j in range(n):
                cx, cy = np.float32(-2 + 3 * j / n), np.float32(-1.5 + 3 * i / n)
                a, b, k = np.float32(0), np.float32(0), 0
                while k < 256 and a * a + b * b <= 4:
                    a, b, k = a * a - b * b + cx, 2 * a * b + cy, k + 1
                z[i, j] = k

    z = np.empty_like(x)

    def run():
        saxpy(np.float32(1.5), x, y, z)
        return z

    enter("saxpy", "numba", run, 1.5 * x.astype(np.float64) + y)
    counts = np.empty((1024, 1024), dtype=np.int32)
    # Rounding decides points on the border, so this one is only timed.
    print(f"mandelbrot\tnumba\t{median(lambda: mandelbrot(1024, counts)):.4f}", flush=True)


def main():
    n, side = 1 << 24, 4096
    x, y = random(n, 0, 1, 1), random(n, 0, 1, 2)
    jnp = jax.numpy if jax else None
    everywhere("saxpy", lambda x, y: 1.5 * x + y, [x, y], lambda x, y: 1.5 * x + y, lambda x, y: 1.5 * x + y)
    everywhere("sum", lambda x: x.sum() / n, [x], lambda x: x.sum() / n, lambda x: x.sum() / n)
    everywhere("dot", lambda x, y: x @ y / n, [x, y], lambda x, y: x @ y / n, lambda x, y: x @ y / n)
    m = x.reshape(side, side)
    everywhere("row_sums", lambda m: m.sum(1), [m], lambda m: m.sum(1), lambda m: m.sum(1))
    everywhere("column_sums", lambda m: m.sum(0), [m], lambda m: m.sum(0), lambda m: m.sum(0))
    options = [random(1 << 22, 10, 100, 3), random(1 << 22, 10, 100, 4), random(1 << 22, 0.2, 2, 5)]
    everywhere(
        "black_scholes",
        black_scholes(np, np.abs, np.where),
        options,
        jax and black_scholes(jnp, jnp.abs, jnp.where),
        torch and black_scholes(torch, torch.abs, torch.where),
    )
    logits = random((side, side), -10, 10, 6)
    everywhere(
        "softmax", softmax, [logits], lambda x: jax.nn.softmax(x, axis=1), lambda x: torch.softmax(x, dim=1)
    )
    copied = lambda m: np.ascontiguousarray(m.T)  # noqa: E731
    everywhere("transpose", copied, [m], lambda m: m.T + 0, lambda m: m.T.contiguous())
    replicate = lambda u: torch.nn.functional.pad(u[None, None], (1, 1, 1, 1), mode="replicate")[0, 0]  # noqa: E731
    everywhere(
        "heat",
        heat(lambda u: np.pad(u, 1, mode="edge")),
        [m],
        jax and heat(lambda u: jnp.pad(u, 1, mode="edge")),
        torch and heat(replicate),
    )
    # Prefix sums in single precision drift by what the order of additions decides.
    scan = np.cumsum(x.astype(np.float64)) / n
    enter("scan", "numpy", lambda: np.cumsum(x) / np.float32(n), scan, atol=1e-2)
    with_jax("scan", lambda x: jnp.cumsum(x) / n, [x], scan)
    with_torch("scan", lambda x: torch.cumsum(x, 0) / n, [x], scan)
    enter("filter", "numpy", lambda: x[x > 0.5], x[x > 0.5])
    with_torch("filter", lambda x: x[x > 0.5], [x], x[x > 0.5])
    bins = np.histogram(x, 256, (0, 1))[0]
    enter("histogram", "numpy", lambda: np.bincount((x * 256).astype(np.int32), minlength=256), bins, atol=64)
    a, b = random((1024, 1024), -1, 1, 7), random((1024, 1024), -1, 1, 8)
    everywhere("matmul", lambda a, b: a @ b, [a, b], lambda a, b: a @ b, lambda a, b: a @ b)
    everywhere("matmul_at_b", lambda a, b: a.T @ b, [a, b], lambda a, b: a.T @ b, lambda a, b: a.T @ b)
    with_numba(x, y)


if __name__ == "__main__":
    main()
