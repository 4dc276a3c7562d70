"""Contestants from Python: numpy, numba, JAX and torch, as far as they can be imported.

    python3 contestants.py THREADS [--quick] [JOB ...]

Prints a line for each job and contestant: job, contestant, median and least time in milliseconds, separated by tabs.
Every answer is checked against numpy in double precision; how it is scaled for that is not timed. Nothing is
installed; what is missing is left out, and without numpy the program ends with an error that says so.
"""

import os
import sys
import time

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 2
QUICK = "--quick" in sys.argv
JOBS = [word for word in sys.argv[2:] if not word.startswith("--")]
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, str(THREADS))
# XLA takes as many threads as it may run on.
if THREADS < (os.cpu_count() or 1) and hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])

import numpy as np  # noqa: E402  (the threads must be known before)

REPETITIONS = 1 if QUICK else 15
# As in the Rust job.
SOFTENING = 1e-3


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


def wanted(job):
    return not JOBS or job in JOBS


def report(job, contestant, run):
    run()
    times = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    times.sort()
    print(f"{job}\t{contestant}\t{times[len(times) // 2]:.4f}\t{times[0]:.4f}", flush=True)


def enter(job, contestant, run, expected, scale=1, rtol=1e-3, atol=1e-3):
    """Checks and times one contestant; a wrong one is told on the error stream and not timed."""
    found = np.asarray(run(), dtype=np.float64) / scale
    if found.shape != expected.shape or not np.allclose(found, expected, rtol=rtol, atol=atol):
        print(f"{contestant} is wrong about {job}", file=sys.stderr)
        return
    report(job, contestant, run)


def with_jax(job, f, inputs, expected, **check):
    if jax:
        compiled = jax.jit(f)
        arrays = [jax.device_put(x) for x in inputs]
        enter(job, "JAX", lambda: compiled(*arrays).block_until_ready(), expected, **check)


def with_torch(job, f, inputs, expected, **check):
    if torch:
        arrays = [torch.from_numpy(x) for x in inputs]
        enter(job, "torch", lambda: f(*arrays), expected, **check)


def everywhere(job, numpy_run, inputs, jax_f, torch_f, scale=1, **check):
    """numpy with its own outputs, JAX compiled, torch eager; None for what has no such operation."""
    if not wanted(job):
        return
    expected = np.asarray(numpy_run(*[x.astype(np.float64) for x in inputs])) / scale
    enter(job, "numpy", lambda: numpy_run(*inputs), expected, scale, **check)
    if jax_f:
        with_jax(job, jax_f, inputs, expected, scale=scale, **check)
    if torch_f:
        with_torch(job, torch_f, inputs, expected, scale=scale, **check)


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


def mandelbrot_counts(n):
    """How many turns each point takes, at most 256."""
    places = np.arange(n, dtype=np.float32) / np.float32(n) * np.float32(3)
    cx, cy = np.meshgrid(places - np.float32(2), places - np.float32(1.5))
    a, b, counts = np.zeros_like(cx), np.zeros_like(cx), np.zeros(cx.shape, dtype=np.int32)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(256):
            counts += a * a + b * b <= 4
            a, b = a * a - b * b + cx, 2 * a * b + cy
    return counts


def with_numba(job, f, output, right):
    """A loop that fills its output, and what says whether that is right."""
    if not wanted(job):
        return
    f(output)
    if right(output):
        report(job, "numba", lambda: f(output))
    else:
        print(f"numba is wrong about {job}", file=sys.stderr)


def loops(x, y, side, bodies):
    """Jobs that numba is made for, and numpy is not."""
    if not numba:
        return

    @numba.njit(parallel=True, fastmath=True)
    def saxpy(a, x, y, z):
        for i in numba.prange(x.size):
            z[i] = a * x[i] + y[i]

    @numba.njit(parallel=True)
    def mandelbrot(z):
        n = z.shape[0]
        for i in numba.prange(n):
            for j in range(n):
                cx, cy = np.float32(-2 + 3 * j / n), np.float32(-1.5 + 3 * i / n)
                a, b, k = np.float32(0), np.float32(0), 0
                while k < 256 and a * a + b * b <= 4:
                    a, b, k = a * a - b * b + cx, np.float32(2) * a * b + cy, k + 1
                z[i, j] = k

    @numba.njit(parallel=True, fastmath=True)
    def pull(x, y, z, mass, out):
        for i in numba.prange(x.size):
            ax, ay, az = np.float32(0), np.float32(0), np.float32(0)
            for j in range(x.size):
                dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
                near = np.float32(1) / np.sqrt(dx * dx + dy * dy + dz * dz + np.float32(SOFTENING))
                force = mass[j] * near * near * near
                ax, ay, az = ax + dx * force, ay + dy * force, az + dz * force
            out[0, i], out[1, i], out[2, i] = ax, ay, az

    line = lambda z: np.allclose(z, 1.5 * x.astype(np.float64) + y, atol=1e-6)  # noqa: E731
    with_numba("saxpy", lambda z: saxpy(np.float32(1.5), x, y, z), np.empty_like(x), line)
    # Rounding decides points on the border.
    turns = lambda z: (z != mandelbrot_counts(side // 4)).mean() < 0.02  # noqa: E731
    with_numba("mandelbrot", mandelbrot, np.empty((side // 4, side // 4), dtype=np.int32), turns)
    exact = pulls(np, *[body.astype(np.float64) for body in bodies])
    some = slice(0, 8)
    near = lambda z: np.allclose(z[:, some], exact(some), rtol=1e-3, atol=0.05)  # noqa: E731
    with_numba("nbody", lambda z: pull(*bodies, z), np.empty((3, side), dtype=np.float32), near)


def pulls(m, x, y, z, mass):
    """The accelerations of some of the bodies."""

    def of(some):
        dx, dy, dz = (c[None, :] - c[some, None] for c in (x, y, z))
        near = 1 / m.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
        force = mass[None, :] * near * near * near
        return m.stack([(dx * force).sum(1), (dy * force).sum(1), (dz * force).sum(1)])

    return of


def main():
    n, side = (1 << 18, 1024) if QUICK else (1 << 24, 4096)
    x, y = random(n, 0, 1, 1), random(n, 0, 1, 2)
    m = random((side, side), 0, 1, 1)
    jnp = jax.numpy if jax else None
    saxpy = lambda x, y: np.float32(1.5) * x + y  # noqa: E731
    everywhere("copy", lambda x: x.copy(), [x], jax and (lambda x: jnp.copy(x)), lambda x: x.clone())
    everywhere("saxpy", saxpy, [x, y], saxpy, lambda x, y: 1.5 * x + y)
    everywhere("sum", lambda x: x.sum(), [x], lambda x: x.sum(), lambda x: x.sum(), n)
    everywhere("dot", lambda x, y: x @ y, [x, y], lambda x, y: x @ y, lambda x, y: x @ y, n)
    everywhere("row_sums", lambda m: m.sum(1), [m], lambda m: m.sum(1), lambda m: m.sum(1))
    everywhere("column_sums", lambda m: m.sum(0), [m], lambda m: m.sum(0), lambda m: m.sum(0))
    options = [random(n // 4, 10, 100, 3), random(n // 4, 10, 100, 4), random(n // 4, 0.2, 2, 5)]
    everywhere(
        "black_scholes",
        black_scholes(np, np.abs, np.where),
        options,
        jax and black_scholes(jnp, jnp.abs, jnp.where),
        torch and black_scholes(torch, torch.abs, torch.where),
    )
    logits = random((side, side), -10, 10, 6)
    everywhere(
        "softmax", softmax, [logits], lambda x: jax.nn.softmax(x, axis=1), lambda x: torch.softmax(x, dim=1), atol=1e-6
    )
    copied = lambda m: np.ascontiguousarray(m.T)  # noqa: E731
    everywhere("transpose", copied, [m], lambda m: m.T, lambda m: m.T.contiguous())
    replicate = lambda u: torch.nn.functional.pad(u[None, None], (1, 1, 1, 1), mode="replicate")[0, 0]  # noqa: E731
    everywhere(
        "heat",
        heat(lambda u: np.pad(u, 1, mode="edge")),
        [m],
        jax and heat(lambda u: jnp.pad(u, 1, mode="edge")),
        torch and heat(replicate),
    )
    # Prefix sums in single precision drift by what the order of additions decides.
    everywhere(
        "scan", np.cumsum, [x], jax and (lambda x: jnp.cumsum(x)), lambda x: torch.cumsum(x, 0), n, atol=1e-2
    )
    everywhere("filter", lambda x: x[x > 0.5], [x], None, lambda x: x[x > 0.5])
    values = random(n, 0, 256, 1)
    everywhere(
        "histogram",
        lambda v: np.bincount(v.astype(np.uint8), minlength=256),
        [values],
        jax and (lambda v: jnp.bincount(v.astype(jnp.uint8), length=256)),
        lambda v: torch.bincount(v.to(torch.uint8), minlength=256),
    )
    a, b = random((side // 4, side // 4), -1, 1, 7), random((side // 4, side // 4), -1, 1, 8)
    bias = random(side // 4, -1, 1, 9)
    product = lambda a, b: a @ b  # noqa: E731
    turned = lambda a, b: a.T @ b  # noqa: E731
    everywhere("matmul", product, [a, b], product, product)
    everywhere("matmul_at_b", turned, [a, b], turned, turned)
    many = [random((16, side // 16, side // 16), -1, 1, seed) for seed in (10, 11)]
    everywhere("matmul_batched", product, many, product, product)
    everywhere(
        "matmul_relu",
        lambda a, b, bias: np.maximum(a @ b + bias, 0),
        [a, b, bias],
        jax and (lambda a, b, bias: jnp.maximum(a @ b + bias, 0)),
        torch and (lambda a, b, bias: torch.relu(torch.addmm(bias, a, b))),
    )
    loops(x, y, side, [random(side, -1 if seed < 4 else 0, 1, seed) for seed in (1, 2, 3, 4)])


if __name__ == "__main__":
    main()
