use slyz::prelude::*;

#[graph]
fn kernel(input: &Tensor<f32>, output: &mut Tensor<f32>) {
    let index = thread.x;
    output[indx] = inptu[index];
    output[index] = mxa(0.0, input[index]);
    output[index] = thread.w;
    output[index] = input.size();
}

fn main() {}
