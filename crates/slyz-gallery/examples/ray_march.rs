//! A scene of spheres on a floor, drawn by walking along each ray as far as nothing can be hit: shading, soft shadows,
//! a reflection and smooth edges, all in one kernel.
//!
//! `cargo run --release --example ray_march -- --out scene.png`

use slyz::prelude::*;
use slyz_gallery::{asked_about, save};
use std::error::Error;
use std::ops::{Add, Mul};

axis!(Rows, Cols);

/// A point, a direction or a colour. The derive makes it an element of arrays and a value of traced code.
#[derive(Clone, Copy, slyz::Elem)]
struct Vec3<T> {
    x: T,
    y: T,
    z: T,
}

type V = Vec3<Exp<f32>>;

impl Add for V {
    type Output = V;
    fn add(self, v: V) -> V {
        Vec3 { x: self.x + v.x, y: self.y + v.y, z: self.z + v.z }
    }
}

impl Mul<Exp<f32>> for V {
    type Output = V;
    fn mul(self, k: Exp<f32>) -> V {
        Vec3 { x: self.x * k, y: self.y * k, z: self.z * k }
    }
}

impl V {
    fn dot(self, v: V) -> Exp<f32> {
        self.x * v.x + self.y * v.y + self.z * v.z
    }

    fn unit(self) -> V {
        self * self.dot(self).rsqrt()
    }

    /// `self` at 0, `v` at 1.
    fn mix(self, v: V, k: Exp<f32>) -> V {
        self * (1.0 - k) + v * k
    }
}

fn vec3(x: f32, y: f32, z: f32) -> V {
    Vec3 { x: lit(x), y: lit(y), z: lit(z) }
}

/// Centre, radius and colour. The floor is at height 0, the camera at `EYE` looks along z.
const SPHERES: [([f32; 3], f32, [f32; 3]); 6] = [
    ([0.0, 1.0, 5.2], 1.0, [0.80, 0.80, 0.82]),
    ([-2.05, 0.75, 4.4], 0.75, [0.80, 0.07, 0.04]),
    ([1.95, 0.7, 4.3], 0.7, [0.02, 0.18, 0.66]),
    ([-0.75, 0.38, 3.3], 0.38, [0.95, 0.48, 0.02]),
    ([0.75, 0.3, 3.0], 0.3, [0.05, 0.42, 0.14]),
    ([3.6, 1.3, 7.4], 1.3, [0.36, 0.12, 0.48]),
];
const EYE: [f32; 3] = [0.0, 1.25, -0.6];
const LIGHT: [f32; 3] = [-0.70, 0.66, -0.30];

/// How far it is from `p` to the nearest surface.
#[slyz::function]
fn distance(p: V) -> Exp<f32> {
    let mut nearest = p.y;
    for ([x, y, z], radius, _) in SPHERES {
        let d = p + vec3(-x, -y, -z);
        nearest = nearest.min(d.dot(d).sqrt() - radius);
    }
    nearest
}

/// How far the ray goes until it hits something, or past 60.
#[slyz::function]
fn march(from: V, along: V) -> Exp<f32> {
    repeat_while(
        (0.0f32, 1.0f32, 0u32),
        |(t, gap, n)| gap.gt(0.0005 * (1.0 + t)) & t.lt(60.0) & n.lt(200),
        |(t, _, n)| {
            let gap = distance(from + along * t);
            (t + gap, gap, n + 1)
        },
    )
    .0
}

/// How much of the sun is seen from `p`: the closest miss on the way there softens the edge of the shadow.
#[slyz::function]
fn sunlight(p: V, sun: V) -> Exp<f32> {
    let (_, seen) = iterate(40, (0.03f32, 1.0f32), |_, (t, seen): (Exp<f32>, Exp<f32>)| {
        let gap = distance(p + sun * t);
        (t + gap.clamp(0.02, 0.5), seen.min(12.0 * gap / t))
    });
    seen.clamp(0.0, 1.0)
}

/// The colour a ray sees, and where it hits and which way the surface faces there.
#[slyz::function]
fn look(from: V, along: V) -> (V, V, V) {
    let t = march(from, along);
    let hit = from + along * t;
    // The direction in which the distance grows, by differences.
    let e = 0.002;
    let slope = |v: V| v * distance(hit + v * lit(e));
    let normal = (slope(vec3(1.0, -1.0, -1.0))
        + slope(vec3(-1.0, -1.0, 1.0))
        + slope(vec3(-1.0, 1.0, -1.0))
        + slope(vec3(1.0, 1.0, 1.0)))
    .unit();
    // The floor is chequered; a sphere has its colour.
    let squares = (hit.x.floor() + hit.z.floor()) * 0.5;
    let mut paint = if squares == squares.floor() { vec3(0.74, 0.70, 0.64) } else { vec3(0.12, 0.13, 0.16) };
    // Far away the squares are smaller than pixels.
    paint = paint.mix(vec3(0.40, 0.40, 0.40), (t * 0.06 - 0.2).clamp(0.0, 1.0));
    for ([x, y, z], radius, [r, g, b]) in SPHERES {
        let d = hit + vec3(-x, -y, -z);
        if d.dot(d).sqrt() < radius + 0.02 {
            paint = vec3(r, g, b);
        }
    }
    let [x, y, z] = LIGHT;
    let sun = vec3(x, y, z).unit();
    let facing = normal.dot(sun).max(0.0) * sunlight(hit + normal * lit(0.01), sun);
    // Where surfaces meet, less of the sky is seen.
    let open = (distance(hit + normal * lit(0.25)) * 4.0).clamp(0.0, 1.0) * 0.6 + 0.4;
    let sky_light = (normal.y * 0.5 + 0.5) * open;
    let lit_paint = Vec3 {
        x: paint.x * (facing * 1.25 + sky_light * 0.16),
        y: paint.y * (facing * 1.12 + sky_light * 0.20),
        z: paint.z * (facing * 0.92 + sky_light * 0.27),
    };
    let shine = along.dot(sun + normal * (-2.0 * normal.dot(sun))).max(0.0).powi(48) * facing;
    let glow = along.dot(sun).max(0.0).powi(32) * 0.35;
    let sky = vec3(0.80, 0.82, 0.82).mix(vec3(0.10, 0.27, 0.60), along.y.max(0.0).sqrt()) + vec3(1.0, 0.9, 0.7) * glow;
    let fog = if t > 59.0 { 1.0 } else { 1.0 - (-0.0016 * t * t).exp() };
    (lit_paint.mix(sky, fog) + vec3(0.7, 0.7, 0.65) * shine, hit, normal)
}

/// The direction of the ray through a point of the picture, in pixels.
fn ray(y: Exp<f32>, x: Exp<f32>) -> V {
    let (rows, cols) = (Idx::<Rows>::extent().cast::<f32>(), Idx::<Cols>::extent().cast::<f32>());
    Vec3 { x: (x - cols * 0.5) / rows, y: (rows * 0.44 - y) / rows, z: lit(1.05) }.unit()
}

/// The picture: four rays per pixel, and each sees what its reflection sees.
fn picture() -> Arr<[u8; 3], (Rows, Cols)> {
    let [x, y, z] = EYE;
    let eye = vec3(x, y, z);
    tabulate(|(i, j): Pos<(Rows, Cols)>| {
        let colour = sum(|(k, l): Pos<(Fix<2>, Fix<2>)>| {
            let along = ray(i.to::<f32>() + k.to::<f32>() * 0.5, j.to::<f32>() + l.to::<f32>() * 0.5);
            let (first, hit, normal) = look(eye, along);
            let facing = along.dot(normal);
            let (second, _, _) = look(hit + normal * lit(0.01), along + normal * (-2.0 * facing));
            // A ray that meets nothing has no mirror, and far ones have less and less.
            let far = along.dot(hit + eye * lit(-1.0));
            let mirror = (0.06 + 0.6 * (1.0 + facing).max(0.0).powi(4)) * (1.0 - far * 0.03).max(0.0);
            first.mix(second, mirror)
        });
        // From light to bytes: bright parts are bent down, dark ones up.
        [colour.x, colour.y, colour.z].map(|c| {
            let c = c * 0.25;
            ((c / (c * 0.30 + 0.72)).clamp(0.0, 1.0).sqrt() * 255.0 + 0.5).cast::<u8>()
        })
    })
}

/// How far each pixel's ray goes.
fn depth() -> Arr<f32, (Rows, Cols)> {
    let [x, y, z] = EYE;
    tabulate(|(i, j): Pos<(Rows, Cols)>| march(vec3(x, y, z), ray(i.to::<f32>(), j.to::<f32>())))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (height, width) = (360, 640);
    let draw = slyz::compile(picture)?.size::<Rows>(height).size::<Cols>(width);
    if asked_about(&draw) {
        return Ok(());
    }
    check(height, width)?;
    save("ray_march", [height, width], &draw.call()?.to_vec()?)
}

/// Rays that walk end where school geometry says that they meet the sphere or the floor.
fn check(height: usize, width: usize) -> Result<(), slyz::Error> {
    let depth = slyz::compile(depth)?.size::<Rows>(height).size::<Cols>(width).call()?.to_vec()?;
    let (mut checked, mut early) = (0, 0);
    for (p, &found) in depth.iter().enumerate() {
        let (y, x) = ((p / width) as f32, (p % width) as f32);
        let ray = [(x - width as f32 * 0.5) / height as f32, (height as f32 * 0.44 - y) / height as f32, 1.05f32];
        let norm = ray.iter().map(|c| c * c).sum::<f32>().sqrt();
        let ray = ray.map(|c| c / norm);
        let floor = if ray[1] < 0.0 { -EYE[1] / ray[1] } else { f32::INFINITY };
        let exact = SPHERES.iter().fold(floor, |nearest, (centre, radius, _)| {
            let to = [0, 1, 2].map(|c| centre[c] - EYE[c]);
            let along: f32 = (0..3).map(|c| to[c] * ray[c]).sum();
            let off = to.iter().map(|c| c * c).sum::<f32>() - along * along;
            if off < radius * radius { nearest.min(along - (radius * radius - off).sqrt()) } else { nearest }
        });
        // At the rims, where a ray almost touches, a walk may stop early; far away it stops at the horizon.
        if exact < 20.0 {
            let ends = (found - exact).abs() < 0.02 * exact;
            assert!(ends || found < exact, "pixel {y}, {x}: the ray goes {found}, but the surface is at {exact}");
            (checked, early) = (checked + usize::from(ends), early + usize::from(!ends));
        }
    }
    println!(
        "{checked} rays end on the exact surface, {early} stop early at a rim, {} go far",
        depth.len() - checked - early
    );
    assert!(checked > 100_000 && early * 100 < checked, "{early} of {checked} rays stop early");
    Ok(())
}
