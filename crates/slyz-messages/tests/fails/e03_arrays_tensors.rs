//! Tensors that do not fit a struct of arrays.
#![allow(unused)]
use slyz::prelude::*;

axis!(N, M, K);

fn main() {}

#[derive(Clone, Copy, Arrays)]
struct Net { w: Arr<f32, N>, rate: Exp<f32> }

fn step(net: Net) -> Net { net }
fn other_axis(w: Tensor<f32, M>) -> Result<NetTensors, slyz::Error> { Ok(NetTensors { w, rate: Tensor::from_value(0.5)? }) }
fn plain_number(w: Tensor<f32, N>) -> NetTensors { NetTensors { w, rate: 0.5 } }
fn one_tensor(w: Tensor<f32, N>) -> Result<(), slyz::Error> { compile(step)?.call(&w)?; Ok(()) }
fn result(net: NetTensors) -> Result<Tensor<f32, N>, slyz::Error> { compile(step)?.call(&net) }
