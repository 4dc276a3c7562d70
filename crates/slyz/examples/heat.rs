//! Heat spreading on a plate: a five-point stencil, called again and again.
//!
//! `cargo run --release --example heat`

use slyz::prelude::*;

axis!(N, M);

fn heat(u: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
    u.stencil(Border::Clamp, |u| u((0, 0)) + 0.1 * (u((-1, 0)) + u((1, 0)) + u((0, -1)) + u((0, 1)) - 4.0 * u((0, 0))))
}

fn main() -> Result<(), slyz::Error> {
    let step = slyz::compile(heat)?;
    if std::env::args().any(|a| a == "--source") {
        println!("{}", step.source());
        return Ok(());
    }
    let (n, m) = (24, 64);
    let mut plate = vec![0f32; n * m];
    plate[n / 2 * m + m / 2] = 1000.0;
    let mut u = step.call((&plate, [n, m]))?;
    for _ in 1..60 {
        u = step.call(&u)?;
    }
    let heat = u.to_vec()?;
    for row in heat.chunks(m) {
        println!("{}", row.iter().map(|&t| b" .:-=+*#%@"[(t.sqrt() * 2.0) as usize % 10] as char).collect::<String>());
    }
    let total: f32 = heat.iter().sum();
    assert!((total - 1000.0).abs() < 0.1, "no heat is lost: {total}");
    Ok(())
}
