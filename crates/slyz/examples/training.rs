//! A network of two layers learns a sine. Its weights are a struct of arrays, which is a parameter, a result and the state of the loop:
//! all turns, each with its gradient, are one call.
//!
//! `cargo run --release --example training`

use slyz::prelude::*;

axis!(Sample, Input, Hidden, Target, Turn);

#[derive(Clone, Copy, Arrays)]
struct Layer<A: Axis, B: Axis> {
    w: Arr<f32, (A, B)>,
    b: Arr<f32, B>,
}

impl<A: Axis, B: Axis> Layer<A, B> {
    fn apply(self, x: Arr<f32, (Sample, A)>) -> Arr<f32, (Sample, B)> {
        x.matmul(self.w) + self.b
    }

    /// The layer after a step down the slope, where `slope` is that of what it gave for `x`.
    fn stepped(self, x: Arr<f32, (Sample, A)>, slope: Arr<f32, (Sample, B)>, rate: Exp<f32>) -> Self {
        Layer { w: self.w - x.transpose().matmul(slope) * rate, b: self.b - slope.over(Sample).sum() * rate }
    }
}

#[derive(Clone, Copy, Arrays)]
struct Net {
    first: Layer<Input, Hidden>,
    second: Layer<Hidden, Target>,
}

/// One turn: the network after it, and the loss before it.
fn turn(net: Net, x: Arr<f32, (Sample, Input)>, y: Arr<f32, (Sample, Target)>, rate: Exp<f32>) -> (Net, Exp<f32>) {
    let hidden = net.first.apply(x).tanh();
    let error = net.second.apply(hidden) - y;
    let loss = (error * error).mean();
    let slope = error * (2.0 / error.len().cast::<f32>());
    let before = slope.matmul(net.second.w.transpose()) * (1.0 - hidden * hidden);
    let first = net.first.stepped(x, before, rate);
    let second = net.second.stepped(hidden, slope, rate);
    (Net { first, second }, loss)
}

/// All turns.
fn train(
    net: Net,
    x: Arr<f32, (Sample, Input)>,
    y: Arr<f32, (Sample, Target)>,
    rate: Exp<f32>,
) -> (Net, Arr<f32, Turn>) {
    scan_over(net, |net: Net, _: Idx<Turn>| turn(net, x, y, rate))
}

/// Numbers between -1 and 1 that look random.
fn noise(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|k| ((((k + 1) * 7919 + seed * 104_729) % 2003) as f32 / 1001.0) - 1.0).collect()
}

fn main() -> Result<(), slyz::Error> {
    const SAMPLES: usize = 64;
    const HIDDEN: usize = 16;
    let f = compile(train)?.size::<Turn>(200);
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}", f.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}", f.explain());
            return Ok(());
        }
        _ => {}
    }
    let x: Vec<f32> = (0..SAMPLES).map(|k| 6.0 * k as f32 / (SAMPLES - 1) as f32 - 3.0).collect();
    let y: Vec<f32> = x.iter().map(|x| x.sin()).collect();
    let first = LayerTensors {
        w: Tensor::from_vec([1, HIDDEN], noise(HIDDEN, 1))?,
        b: Tensor::from_vec([HIDDEN], noise(HIDDEN, 2))?,
    };
    let second = LayerTensors { w: Tensor::from_vec([HIDDEN, 1], noise(HIDDEN, 3))?, b: Tensor::zeros([1])? };
    let mut net = NetTensors { first, second };
    let mut last = f32::INFINITY;
    for call in 0..3 {
        let (next, losses) = f.call(&net, (&x, [SAMPLES, 1]), (&y, [SAMPLES, 1]), 0.1)?;
        let losses = losses.to_vec()?;
        println!("after {:>4} turns the loss is {:.5}", 200 * call, losses[0]);
        assert!(losses[0] < last, "it learns");
        last = losses[0];
        net = next;
    }
    assert!(last < 0.05, "it has learnt the sine");
    Ok(())
}
