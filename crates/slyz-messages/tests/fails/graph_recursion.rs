use slyz::prelude::*;

#[graph]
mod kernels {
    fn even(n: i32) -> bool {
        if n == 0 { true } else { odd(n - 1) }
    }

    fn odd(n: i32) -> bool {
        if n == 0 { false } else { even(n - 1) }
    }

    pub fn parity(x: &Tensor<i32>, out: &mut Tensor<bool>) {
        out[thread.x] = even(x[thread.x]);
    }
}

fn main() {}
