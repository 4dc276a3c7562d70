//! A file that cannot be read. Its kernels are known all the same: their callers are not wrong.
slyz::vex!("vex_syntax.vex");

fn main() {
    let mut y = [0.0];
    let _ = relu(&[1.0], &mut y).threads(1).run();
}
