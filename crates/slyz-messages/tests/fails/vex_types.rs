//! Kernels of a file whose types are wrong, and a launch with wrong arguments of one that is right.
slyz::vex!("vex_types.vex");

mod right {
    slyz::vex!(pub "vex_right.vex");
}

fn main() {
    let mut y = [0.0];
    let _ = count(&[1], &mut y).run();
    let _ = right::double(&y).run();
    let _ = right::double(&mut [1, 2]).run();
}
