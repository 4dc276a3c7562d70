
/// Simple numbers for argument `k`.
fn ramp(k: u64, i: u64) -> u64 {
    (i * (2 * k + 1) + k) % 97 + 1
}

/// Prints how far a result is off; `expected` holds every `stride`-th element of `count`. Without a tolerance elements have to be equal.
fn compare<T: Copy + PartialEq>(
    name: &str,
    found: &[T],
    expected: &[T],
    (stride, count): (usize, usize),
    tolerance: Option<f64>,
    number: impl Fn(T) -> f64,
) -> bool {
    if found.len() != count {
        println!("  {name}: {} elements, expected {count}, WRONG", found.len());
        return false;
    }
    let (mut worst, mut right) = (0.0f64, true);
    for (&found, &expected) in found.iter().step_by(stride).zip(expected) {
        let (a, b) = (number(found), number(expected));
        if found == expected || (a.is_nan() && b.is_nan()) {
            continue;
        }
        let error = (a - b).abs();
        worst = if error > worst || error.is_nan() { error } else { worst };
        right &= tolerance.is_some_and(|tolerance| error <= tolerance * b.abs().max(1.0));
    }
    println!("  {name}: max error {worst:?}{}", if right { "" } else { ", WRONG" });
    right
}

/// Prints the best time of a call, and the bytes of arguments and results per second.
fn measure(name: &str, times: u32, bytes: f64, mut call: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    let mut best = f64::INFINITY;
    for _ in 0..times {
        let begun = Instant::now();
        call()?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    println!("  {name}: {:.3} us, {:.3} GB/s", best * 1e6, bytes / best / 1e9);
    Ok(())
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let is_bench = arguments.next().as_deref() == Some("--bench");
    let times = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(10);
    println!("validating:");
    let done = validate().and_then(|right| {
        if right && is_bench {
            println!("best of {times}:");
            bench(times)?;
        }
        Ok(right)
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
