//! Two small galaxies meet: every body pulls every other, and the camera's shutter stays open for a while.
//!
//! `cargo run --release --example nbody -- --out nbody.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, save_flat};
use std::error::Error;

axis!(N, Rows, Cols);

type Points = Arr<[f32; 2], N>;
type Film = Arr<[f32; 2], (Rows, Cols)>;

/// What all others do to each body. The softening keeps close meetings tame.
fn pull(place: Points, mass: Arr<f32, N>) -> Points {
    place.map(|[x, y]| {
        sum(|j: Idx<N>| {
            let [a, b] = place.at(j);
            let (dx, dy) = (a - x, b - y);
            let near = (dx * dx + dy * dy + 0.0025).rsqrt();
            let force = mass.at(j) * near * near * near;
            [dx * force, dy * force]
        })
    })
}

/// A leapfrog step: half a push, a move, half a push.
fn step(place: Points, speed: Points, force: Points, mass: Arr<f32, N>, dt: Exp<f32>) -> (Points, Points, Points) {
    let go = |x: Points, v: Points, t: Exp<f32>| zip((x, v)).map(|([x, y], [u, v])| [x + u * t, y + v * t]);
    let half = go(speed, force, dt * 0.5);
    let place = go(place, half, dt);
    let force = pull(place, mass);
    (place, go(half, force, dt * 0.5), force)
}

/// The energy of motion and of attraction, and the momentum.
fn energy(place: Points, speed: Points, mass: Arr<f32, N>) -> (Exp<f32>, Exp<f32>, Exp<f32>) {
    let motion = sum(|i: Idx<N>| {
        let [u, v] = speed.at(i);
        0.5 * mass.at(i) * (u * u + v * v)
    });
    let attraction = sum(|(i, j): Pos<(N, N)>| {
        let ([x, y], [a, b]) = (place.at(i), place.at(j));
        let near = ((a - x) * (a - x) + (b - y) * (b - y) + 0.0025).rsqrt();
        i.ne(j).select(-0.5 * mass.at(i) * mass.at(j) * near, 0.0)
    });
    let momentum = |c: usize| sum(|i: Idx<N>| mass.at(i) * speed.at(i)[c]);
    (motion + attraction, momentum(0), momentum(1))
}

/// The film: old light fades, and each body adds some where it is now; half of the bodies are warm, the others cold.
fn expose(film: Film, place: Points) -> Film {
    let (rows, cols) = (Idx::<Rows>::extent().cast::<f32>(), Idx::<Cols>::extent().cast::<f32>());
    let faded = film.map(|light| light.map(|l| l * 0.987));
    faded.scatter_add(|i: Idx<N>| {
        let [x, y] = place.at(i);
        let (row, col) = ((y * 0.17 + 0.5) * rows, x * 0.17 * rows + cols * 0.5);
        let warm = (i.i64() * 2).lt(Idx::<N>::extent());
        let here = (Near::<Rows>::new(row.floor().cast::<i32>()), Near::<Cols>::new(col.floor().cast::<i32>()));
        (here, warm.select([1f32, 0.0], [0f32, 1.0]))
    })
}

/// Many steps, and the film after them.
fn fly(place: Points, speed: Points, mass: Arr<f32, N>, dt: Exp<f32>, steps: Exp<u32>) -> (Points, Points, Film) {
    let start = (place, speed, pull(place, mass), fill::<[f32; 2], (Rows, Cols)>([0.0, 0.0]));
    let (place, speed, _, film) =
        iterate(steps, start, |_, (place, speed, force, film): (Points, Points, Points, Film)| {
            let (place, speed, force) = step(place, speed, force, mass, dt);
            (place, speed, force, expose(film, place))
        });
    (place, speed, film)
}

/// The film developed: much light saturates slowly, in steps too fine for the eye, which keeps the file small.
fn develop(film: Film, brightness: Exp<f32>) -> Arr<[u8; 3], (Rows, Cols)> {
    film.map(|light| {
        let [warm, cold] = light.map(|l| ((l * brightness).ln_1p() * 8.0).round() / 8.0);
        let ([r, g, b], [s, h, c]) = ([0.42f32, 0.21, 0.08], [0.07f32, 0.22, 0.46]);
        [warm * r + cold * s + 0.02, warm * g + cold * h + 0.02, warm * b + cold * c + 0.05]
            .map(|c| (c.clamp(0.0, 1.0) * 255.0).cast::<u8>())
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let (height, width, steps) = (360, 600, 960);
    let fly = slyz::compile(fly)?.size::<Rows>(height).size::<Cols>(width);
    if asked_about(&fly) {
        return Ok(());
    }
    let (place, speed, mass) = galaxies(400);
    check(&place, &mass, &slyz::compile(pull)?.call(&place, &mass)?.to_vec()?);

    let energy = slyz::compile(energy)?;
    let (before, px, py) = energy.call(&place, &speed, &mass)?;
    let (place, speed, film) = fly.call(&place, &speed, &mass, 0.005, steps)?;
    let (after, qx, qy) = energy.call(&place, &speed, &mass)?;
    let (before, after) = (before.value()?, after.value()?);
    println!("{} bodies, {steps} steps: energy {before:.4} before, {after:.4} after", mass.len());
    assert!((after - before).abs() < 0.01 * before.abs(), "energy is kept to a hundredth");
    let pushed = (px.value()? - qx.value()?).abs() + (py.value()? - qy.value()?).abs();
    assert!(pushed < 1e-3, "momentum is kept, but changed by {pushed}");
    let rgb = slyz::compile(develop)?.call(&film, 2.5)?;
    save_flat("nbody", [height, width], &rgb.to_vec()?)
}

/// Two discs of light bodies, each around a heavy one and turning as they will pass each other: that pulls out long tails.
fn galaxies(each: usize) -> (Vec<[f32; 2]>, Vec<[f32; 2]>, Vec<f32>) {
    let mut seed = 5u32;
    let mut dice = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / 16_777_216.0
    };
    let (mut place, mut speed, mut mass) = (vec![], vec![], vec![]);
    for (x, y, u) in [(-1.7f32, -0.9f32, 0.42f32), (1.7, 0.9, -0.42)] {
        for body in 0..each {
            let centre = body == 0;
            let (far, turn) = (0.12 + 0.63 * dice().sqrt(), dice() * std::f32::consts::TAU);
            let far = if centre { 0.0 } else { far };
            let round = far * (far * far + 0.0025).powf(-0.75);
            place.push([x + far * turn.cos(), y + far * turn.sin()]);
            speed.push([u - round * turn.sin(), round * turn.cos()]);
            mass.push(if centre { 1.0 } else { 1e-4 });
        }
    }
    (place, speed, mass)
}

/// The forces, computed by two plain loops.
fn check(place: &[[f32; 2]], mass: &[f32], force: &[[f32; 2]]) {
    for (i, &[x, y]) in place.iter().enumerate() {
        let mut expected = [0f64; 2];
        for (&[a, b], &mass) in place.iter().zip(mass) {
            let (dx, dy) = (f64::from(a - x), f64::from(b - y));
            let pull = f64::from(mass) * (dx * dx + dy * dy + 0.0025).powf(-1.5);
            expected = [expected[0] + dx * pull, expected[1] + dy * pull];
        }
        let off = (0..2).map(|c| (expected[c] - f64::from(force[i][c])).abs()).sum::<f64>();
        assert!(off < 1e-3 * (1.0 + expected[0].abs() + expected[1].abs()), "body {i}: {:?}", force[i]);
    }
}
