//! Random kernels that are array programs, or nearly: each thread computes an element, or a row, in ways that people have. Some store where other
//! threads do not, read what they write, guard by data, count backwards, share tiles, go in strides. Nothing races, so what the interpreter says
//! is what every device has to say.

use slyz_trials::Random;
use std::fmt::Write;

/// The program of a seed.
pub fn program(seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x5851_f42d_4c95_7f2d));
    let kind = random.below(6);
    match kind {
        0 | 1 => line(&mut random),
        2 | 3 => matrix(&mut random),
        4 => rows(&mut random),
        _ => tiles(&mut random),
    }
}

fn numbers(name: &str, random: &mut Random, count: u64) -> String {
    let list: Vec<String> =
        (0..count).map(|_| format!("{}.{}", random.below(20) as i64 - 10, random.pick(&["0", "5", "25"]))).collect();
    if count == 0 {
        format!("let {name} = Tensor.zeros<f32>(0)\n")
    } else {
        format!("let {name} = Tensor.from<f32>([{}])\n", list.join(", "))
    }
}

/// A value of a thread at `i` of `n` elements.
fn value(random: &mut Random, depth: u32) -> String {
    if depth == 0 {
        return random
            .pick(&[
                "x[i]",
                "y[i]",
                "out[i]",
                "a",
                "2.5",
                "i as f32",
                "x[n - 1 - i]",
                "(if i > 0 { x[i - 1] } else { y[i] })",
                "(if i + 1 < n { y[i + 1] } else { 0.5 })",
            ])
            .to_string();
    }
    let left = value(random, depth - 1);
    let right = value(random, depth - 1);
    match random.below(7) {
        0 => format!("({left} + {right})"),
        1 => format!("({left} - {right})"),
        2 => format!("({left} * {right})"),
        3 => format!("max({left}, {right})"),
        4 => format!("(if {left} > {right} {{ {left} }} else {{ {right} }})"),
        5 => format!("min({left}, a)"),
        _ => left,
    }
}

fn line(random: &mut Random) -> String {
    let n = random.pick(&[0u64, 1, 2, 5, 17, 64, 70]);
    let extra = random.pick(&[0u64, 0, 3]);
    let mut body = String::new();
    let depth = 1 + random.below(3) as u32;
    let first = value(random, depth);
    let _ = match random.below(8) {
        0 => writeln!(body, "        out[i] = {first}"),
        1 => writeln!(body, "        out[n - 1 - i] = {}", first.replace("out[i]", "out[n - 1 - i]")),
        2 => writeln!(body, "        if i > 0 {{ out[i] = {first} }}"),
        3 => writeln!(body, "        if x[i] > 0.0 {{ out[i] = {first} }}"),
        4 => {
            writeln!(body, "        if y[i] > x[i] {{ out[i] = {first} }} else {{ out[i] = a }}\n        out[i] += 1.0")
        }
        5 => {
            writeln!(body, "        let! s = {first}\n        for k in 0..n {{ s += x[k] * y[i] }}\n        out[i] = s")
        }
        6 => writeln!(
            body,
            "        for k in 0..i {{ out[i] += x[k] }}\n        out[i] *= {}",
            first.replace("out[i]", "0.5")
        ),
        _ => writeln!(body, "        let! k = i\n        while k > 2 {{ k = k / 2\n out[i] += x[k] }}"),
    };
    let guard = random.pick(&["i < n", "i < out.len()", "i + 1 <= n", "!(i >= n)"]);
    let stride = random.below(4) == 0;
    let (open, launch) = if stride {
        ("    for i in global.x..n step gridDim.x * blockDim.x {".to_string(), "grid: 2, block: 4".to_string())
    } else {
        (format!("    let i = thread.x\n    if {guard} {{"), format!("threads: {}", n + random.below(6)))
    };
    let mut text = format!(
        "graph fn k(x: Tensor<f32>, y: Tensor<f32>, out: Tensor<f32>!, a: f32, n: i64) {{\n{open}\n{body}    }}\n}}\n"
    );
    text += &numbers("x", random, n + extra);
    text += &numbers("y", random, n);
    // `out[n - 1 - i]` and the guard by its length need it to be as long.
    text +=
        &format!("let! out = Tensor.filled(1.5f32, {n})\nlaunch k(x, y, &!out, 0.75, {n}) with {launch}\nprint(out)\n");
    text
}

fn matrix(random: &mut Random) -> String {
    let [n, m, k] = [0; 3].map(|_| random.pick(&[1u64, 2, 3, 7, 16, 19]));
    let item = random.pick(&[
        "A[r * K + k] * B[k * M + c]",
        "max(A[r * K + k], B[k * M + c])",
        "A[r * K + k] - B[k * M + c]",
        "A[r * K + k] * 2.0 * B[k * M + c] + A[r * K]",
    ]);
    let sum = random.pick(&["s += {}", "s = max(s, {})", "s = s * {}", "s = {} - s"]).replace("{}", item);
    let store = random.pick(&[
        "C[r * M + c] = s",
        "C[r * M + c] += s",
        "if s > 1.0 { C[r * M + c] = s }",
        "C[r * M + c] = max(s, 0.0) + B[c]",
    ]);
    let whole = random.below(2) == 0;
    let more = if whole { 0 } else { m };
    let [x, y] = [m + random.below(3), n + random.below(3)];
    let mut text = format!(
        "graph fn k(A: Tensor<f32>, B: Tensor<f32>, C: Tensor<f32>!, N: i32, M: i32, K: i32) {{
    let r = thread.y
    let c = thread.x
    if r < N && c < M {{
        let! s = 0.5f32
        for k in 0..K {{ {sum} }}
        {store}
    }}
}}
"
    );
    text += &numbers("A", random, n * k);
    text += &numbers("B", random, k * m);
    text += &format!(
        "let! C = Tensor.filled(-1.0f32, {})\nlaunch k(A, B, &!C, {n}, {m}, {k}) with threads: ({x}, {y})\nprint(C)\n",
        n * m + more
    );
    text
}

fn rows(random: &mut Random) -> String {
    let [n, m] = [0; 2].map(|_| random.pick(&[1u64, 2, 5, 17, 33]));
    let first = random.pick(&["x[r, j]", "x[r, j] * 0.5", "out[r, j] + x[r, j]", "max(x[r, j], x[r, 0])"]);
    let second = random.pick(&[
        "",
        "        for j in 0..out.dim(1) { out[r, j] = out[r, j] - s }\n",
        "        for j in 0..out.dim(1) { out[r, j] += out[r, out.dim(1) - 1] }\n",
        "        for j in 0..out.dim(1) { if x[r, j] > 0.0 { out[r, j] = s } }\n",
    ]);
    let carried = random.pick(&[
        "",
        "            s += out[r, j]\n",
        "            s = max(s, x[r, j])\n",
        "            s += x[r, j]\n            out[r, j] = s\n",
        "            s += out[r, j]\n            out[r, j] = s * 2.0\n            s = s + out[r, j]\n",
        "            s = max(s, out[r, j])\n            out[r, j] = s - x[r, j]\n",
        "            n += i32(out[r, j])\n            out[r, j] = n as f32\n",
    ]);
    let mut text = format!(
        "graph fn k(x: Tensor<f32, 2>, out: Tensor<f32, 2>!) {{
    let r = thread.x
    if r < out.dim(0) {{
        let! s = 0.25f32
        let! n = 3
        for j in 0..out.dim(1) {{
            out[r, j] = {first}
{carried}        }}
{second}    }}
}}
"
    );
    text += &numbers("flat", random, n * m);
    text += &format!(
        "let! x = Tensor.zeros<f32>({n}, {m})\nfor i in 0..{n} {{ for j in 0..{m} {{ x[i, j] = flat[i * {m} + j] }} }}\nlet! out = Tensor.zeros<f32>({n}, {m})\nlaunch k(x, &!out) with threads: {}\nprint(out)\n",
        n + random.below(3)
    );
    text
}

fn tiles(random: &mut Random) -> String {
    let [by, bx] = [random.below(3) + 1, random.below(3) + 1];
    let k = 4 * (1 + random.below(3));
    let (n, m) = (4 * by, 4 * bx);
    let fill = random.pick(&[
        "As[ty * 4 + tx] = A[r * K + t * 4 + tx]",
        "if r < N { As[ty * 4 + tx] = A[r * K + t * 4 + tx] } else { As[ty * 4 + tx] = 0.0 }",
        "As[ty * 4 + tx] = if tx > 0 { A[r * K + t * 4 + tx] } else { 0.25 }",
        "As[tx * 4 + ty] = A[r * K + t * 4 + tx]",
    ]);
    let item = random.pick(&[
        "As[ty * 4 + k] * Bs[k * 4 + tx]",
        "As[ty * 4 + k] - Bs[k * 4 + tx]",
        "As[k * 4 + ty] * Bs[k * 4 + tx]",
        "As[ty * 4 + 3 - k] * Bs[k * 4 + tx]",
    ]);
    let last = random.pick(&[
        "        threadgroup.barrier()\n",
        "        threadgroup.barrier()\n        s += Bs[tx]\n        threadgroup.barrier()\n",
    ]);
    let mut text = format!(
        "graph fn k(A: Tensor<f32>, B: Tensor<f32>, C: Tensor<f32>!, N: i32, M: i32, K: i32) {{
    threadgroup let! As: [f32; 16]
    threadgroup let! Bs: [f32; 16]
    let tx = local.x
    let ty = local.y
    let r = block.y * 4 + ty
    let c = global.x
    let! s = 0.0f32
    for t in 0..(K / 4) {{
        {fill}
        Bs[ty * 4 + tx] = B[(t * 4 + ty) * M + c]
        threadgroup.barrier()
        for k in 0..4 {{ s += {item} }}
{last}    }}
    if r < N && c < M {{ C[r * M + c] = s }}
}}
"
    );
    text += &numbers("A", random, n * k);
    text += &numbers("B", random, k * m);
    text += &format!(
        "let! C = Tensor.filled(-1.0f32, {})\nlaunch k(A, B, &!C, {n}, {m}, {k}) with grid: ({bx}, {by}), block: (4, 4)\nprint(C)\n",
        n * m
    );
    text
}
