//! Heat on a plate, several turns at a time: each tile is loaded once, and takes its turns where it is near.
//!
//! `cargo run --release --example time_tiled_heat`

use slyz::prelude::*;
use std::time::Instant;

axis!(N, M);

/// How a point follows its neighbours.
fn point(u: &dyn Fn((i32, i32)) -> Exp<f32>) -> Exp<f32> {
    u((0, 0)) + 0.1 * (u((-1, 0)) + u((1, 0)) + u((0, -1)) + u((0, 1)) - 4.0 * u((0, 0)))
}

/// Turn by turn: each goes over all of the memory.
fn plain(u: Arr<f32, (N, M)>, turns: Exp<u32>) -> Arr<f32, (N, M)> {
    iterate(turns, u, |_, u: Arr<f32, (N, M)>| u.stencil(Border::Clamp, point))
}

/// Ten turns at a time, in tiles of which two, with ten positions around them, fit the memory that is near.
fn tiled<const H: usize, const W: usize>(u: Arr<f32, (N, M)>, tens: Exp<u32>) -> Arr<f32, (N, M)> {
    iterate(tens, u, |_, u: Arr<f32, (N, M)>| {
        for_tiles(u.partition::<H, W>().halo::<10>(Border::Clamp), |mut tile| {
            for _ in 0..10 {
                tile = tile.stencil(point);
            }
            tile
        })
    })
}

fn main() -> Result<(), slyz::Error> {
    let plain = compile(plain)?;
    // Blocks of a GPU of NVIDIA may have more memory where fewer of them are beside each other: two tiles of 112 x 112 are 98 KB.
    let larger = if plain.device() == "cuda" { Some(compile(tiled::<92, 92>)?) } else { None };
    // The cache of a core, or the memory of a block.
    let tiled = if plain.device() == "cpu" { compile(tiled::<108, 236>)? } else { compile(tiled::<44, 44>)? };
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}", tiled.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}", tiled.explain());
            return Ok(());
        }
        _ => {}
    }
    let side: usize = std::env::args().nth(1).and_then(|side| side.parse().ok()).unwrap_or(500);
    let start = (0..side * side).map(|k| if k % 97 == 0 { 100.0 } else { 0.0 }).collect();
    let plate = Tensor::<f32, (N, M)>::from_vec([side, side], start)?;
    let turns: u32 = 100;
    for _ in 0..2 {
        // Whoever reads one element has waited for all of them.
        let clock = Instant::now();
        let one = plain.call(&plate, turns)?;
        one.get([0, 0])?;
        let middle = clock.elapsed();
        let other = tiled.call(&plate, turns / 10)?;
        other.get([0, 0])?;
        let end = clock.elapsed() - middle;
        println!("{turns} turns of {side} x {side}: plain {middle:.1?}, ten at a time {end:.1?}");
        assert_eq!(one.to_vec()?, other.to_vec()?, "the same numbers, to the last bit");
        if let Some(larger) = &larger {
            let clock = Instant::now();
            let other = larger.call(&plate, turns / 10)?;
            other.get([0, 0])?;
            println!("in larger tiles {:.1?}", clock.elapsed());
            assert_eq!(one.to_vec()?, other.to_vec()?, "the same numbers, to the last bit");
        }
    }
    Ok(())
}
