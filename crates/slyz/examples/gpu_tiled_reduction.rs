//! Partitions and tiled reductions: the sum, the extremes and an operation of one's own over matrices, on the device.
//!
//! `cargo run --release --example gpu_tiled_reduction`

use slyz::prelude::*;
use slyz::views::*;
use std::time::Instant;

/// The element that is farthest from zero.
struct Farthest;

impl ReduceOp for Farthest {
    fn identity() -> f32 {
        0.0
    }

    fn combine(a: Exp<f32>, b: Exp<f32>) -> Exp<f32> {
        a.abs().lt(b.abs()).select(b, a)
    }
}

fn main() -> Result<(), slyz::Error> {
    let data: Vec<f32> = (1..=1024).map(|x| x as f32).collect();
    let (sum, max, min) = (tiled_sum_2d(&data, 32, 32), tiled_max_2d(&data, 32, 32), tiled_min_2d(&data, 32, 32));
    println!("32 x 32: sum {sum}, max {max}, min {min}");
    assert_eq!((sum, max, min), (524800.0, 1024.0, 1.0));
    assert_eq!(tiled_reduce_2d::<Farthest>(&[1.0, -9.0, 3.0, 4.0], 2, 2), -9.0);

    let image = Tensor::<f32>::from_vec([100, 100], (0..10_000).map(|k| (k % 100) as f32).collect())?;
    let tiles = image.view::<2>()?.partition([TILE_SIZE, TILE_SIZE])?;
    let edges = tiles.tiles().filter(|tile| tile.is_edge).count();
    println!("100 x 100: {} tiles, {edges} of them smaller", tiles.total_tiles());
    assert_eq!((tiles.total_tiles(), edges), (49, 13));
    let mut total = 0.0;
    for tile in tiles.tiles() {
        total += tiles.tile(tile.index)?.reduce::<SumOp>(&[0, 1])?.to_vec()?[0];
    }
    assert_eq!(total, 495_000.0);
    let columns = image.view::<2>()?.reduce::<MaxOp>(&[0])?;
    assert_eq!(columns.to_vec()?[99], 99.0);

    for side in [1024, 2048] {
        let data: Vec<f32> = (0..side * side).map(|k| (k % 16) as f32).collect();
        try_tiled_sum_2d(&data, side, side)?;
        let start = Instant::now();
        let sum = try_tiled_sum_2d(&data, side, side)?;
        let rate = data.len() as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("{side} x {side}: {rate:.0} million elements a second, from memory of the host");
        assert_eq!(sum, 7.5 * data.len() as f32);
    }
    Ok(())
}
