//! What a graph means: its nodes computed one after the other, by the operator table.

use slyz_sir::back::graph::{Graph, NodeId, Op, Reduction, Region};
use slyz_sir::interp::{Array, Value};
use slyz_sir::ops::Operator;
use slyz_sir::types::{Scalar, Ty};
use std::collections::HashMap;

type Values = HashMap<NodeId, Array>;

/// The results of a graph, or why it has none.
pub fn run(graph: &Graph, args: &[Value]) -> Result<Vec<Value>, String> {
    let mut values = Values::new();
    for (port, arg) in graph.inputs.iter().zip(args) {
        let array = match arg {
            Value::Scalar(scalar) => Array { ty: scalar.ty, shape: vec![], data: vec![scalar.bits] },
            Value::Array(array) => array.clone(),
        };
        values.insert(port.node, array);
    }
    let mut turns = 0;
    nodes(graph, 0, graph.nodes.len() as u32, &mut values, &mut turns)?;
    let result = |array: &Array| match array.shape[..] {
        [] => Value::Scalar(scalar(array, 0)),
        _ => Value::Array(array.clone()),
    };
    Ok(graph.outputs.iter().map(|port| result(&values[&port.node])).collect())
}

fn nodes(graph: &Graph, first: u32, end: u32, values: &mut Values, turns: &mut u32) -> Result<(), String> {
    let mut ended: HashMap<NodeId, Vec<Array>> = HashMap::new();
    for id in graph.needed(first, end) {
        let node = graph.node(id);
        let array = match &node.op {
            Op::Input(_) | Op::Param => continue,
            Op::While { init, cond, body } => {
                let mut state: Vec<Array> = init.iter().map(|id| values[id].clone()).collect();
                while region(graph, cond, &state, values, turns)?[0].data[0] != 0 {
                    *turns += 1;
                    if *turns > 100_000 {
                        return Err("too many turns".into());
                    }
                    state = region(graph, body, &state, values, turns)?;
                }
                ended.insert(id, state);
                continue;
            }
            Op::Const(values) => {
                let shape =
                    node.shape.iter().map(|size| size.constant().expect("constants have known shapes")).collect();
                Array { ty: node.ty, shape, data: values.iter().map(|value| value.bits).collect() }
            }
            Op::Part(all, number) => ended[all][*number].clone(),
            op => {
                let of: Vec<&Array> = op.operands().iter().map(|id| &values[id]).collect();
                compute(op, node.ty, &of)?
            }
        };
        let known = node.shape.iter().zip(&array.shape);
        for (size, extent) in known {
            assert!(
                size.constant().is_none_or(|n| n == *extent),
                "{:?} has the shape {:?}, not {:?}",
                node.op,
                array.shape,
                node.shape
            );
        }
        assert_eq!((node.shape.len(), node.ty), (array.shape.len(), array.ty), "{:?}", node.op);
        values.insert(id, array);
    }
    Ok(())
}

fn region(
    graph: &Graph,
    region: &Region,
    state: &[Array],
    values: &mut Values,
    turns: &mut u32,
) -> Result<Vec<Array>, String> {
    values.extend(region.params.iter().copied().zip(state.iter().cloned()));
    nodes(graph, region.first, region.end, values, turns)?;
    Ok(region.results.iter().map(|id| values[id].clone()).collect())
}

fn scalar(array: &Array, at: usize) -> Scalar {
    Scalar::from_bits(array.ty, array.data[at])
}

fn int(array: &Array) -> i64 {
    scalar(array, 0).as_int() as i64
}

fn count(shape: &[u64]) -> u64 {
    shape.iter().product()
}

/// The position with that number.
fn position(mut number: u64, shape: &[u64]) -> Vec<u64> {
    let mut position = vec![0; shape.len()];
    for (at, extent) in position.iter_mut().zip(shape).rev() {
        *at = number % extent;
        number /= extent;
    }
    position
}

/// The number of a position; axes of one element are repeated, and those that are missing are in front.
fn number(position: &[u64], shape: &[u64]) -> usize {
    let own = &position[position.len() - shape.len()..];
    let places = own.iter().zip(shape);
    places.fold(0, |number, (at, extent)| number * extent + if *extent == 1 { 0 } else { *at }) as usize
}

fn filled(ty: Ty, shape: Vec<u64>, mut at: impl FnMut(&[u64]) -> Result<u64, String>) -> Result<Array, String> {
    let data = (0..count(&shape)).map(|k| at(&position(k, &shape))).collect::<Result<Vec<u64>, String>>()?;
    Ok(Array { ty, shape, data })
}

fn met(of: &[&Array]) -> Vec<u64> {
    let rank = of.iter().map(|array| array.shape.len()).max().unwrap_or(0);
    let mut shape = vec![1; rank];
    for array in of {
        let in_front = rank - array.shape.len();
        for (k, &extent) in array.shape.iter().enumerate() {
            let own = &mut shape[in_front + k];
            assert!(
                *own == 1 || extent == 1 || *own == extent,
                "shapes do not meet: {:?}",
                of.iter().map(|a| &a.shape).collect::<Vec<_>>()
            );
            if *own == 1 {
                *own = extent;
            }
        }
    }
    shape
}

fn operator(by: Reduction) -> Operator {
    match by {
        Reduction::Sum => Operator::Add,
        Reduction::Product => Operator::Mul,
        Reduction::Min => Operator::Min,
        Reduction::Max => Operator::Max,
        Reduction::All => Operator::And,
        Reduction::Any => Operator::Or,
    }
}

fn combined(by: Operator, a: Scalar, b: Scalar) -> Scalar {
    by.eval(&[a, b]).expect("a reduction of such elements")
}

fn shape_of(vector: &Array) -> Vec<u64> {
    (0..vector.data.len()).map(|k| scalar(vector, k).as_int() as u64).collect()
}

fn compute(op: &Op, ty: Ty, of: &[&Array]) -> Result<Array, String> {
    match op {
        Op::Dim(_, axis) => Ok(Array { ty, shape: vec![], data: vec![of[0].shape[*axis]] }),
        Op::Apply(operator, _) => filled(ty, met(of), |at| {
            let args: Vec<Scalar> = of.iter().map(|array| scalar(array, number(at, &array.shape))).collect();
            Ok(operator.eval(&args).expect("an operator of such elements").bits)
        }),
        Op::Select(..) => filled(ty, met(of), |at| {
            let holds = of[0].data[number(at, &of[0].shape)] != 0;
            let chosen = if holds { of[1] } else { of[2] };
            Ok(chosen.data[number(at, &chosen.shape)])
        }),
        Op::Cast(_) => {
            let data = (0..of[0].data.len()).map(|k| scalar(of[0], k).cast(ty).bits).collect();
            Ok(Array { ty, shape: of[0].shape.clone(), data })
        }
        Op::Reshape(..) => {
            let shape = shape_of(of[1]);
            assert_eq!(count(&shape), count(&of[0].shape), "a reshape keeps its elements");
            Ok(Array { ty, shape, data: of[0].data.clone() })
        }
        Op::Unsqueeze(_, axes) => {
            let mut shape = of[0].shape.clone();
            axes.iter().for_each(|&axis| shape.insert(axis, 1));
            Ok(Array { ty, shape, data: of[0].data.clone() })
        }
        Op::Broadcast(..) => {
            let shape = shape_of(of[1]);
            filled(ty, shape, |at| Ok(of[0].data[number(at, &of[0].shape)]))
        }
        Op::Transpose(_, order) => {
            let shape = order.iter().map(|&from| of[0].shape[from]).collect();
            filled(ty, shape, |at| {
                let mut from = vec![0; order.len()];
                order.iter().zip(at).for_each(|(&axis, &at)| from[axis] = at);
                Ok(of[0].data[number(&from, &of[0].shape)])
            })
        }
        Op::Concat(_, axis) => {
            let mut shape = of[0].shape.clone();
            shape[*axis] = of.iter().map(|array| array.shape[*axis]).sum();
            filled(ty, shape, |at| {
                let mut at = at.to_vec();
                for array in of {
                    if at[*axis] < array.shape[*axis] {
                        return Ok(array.data[number(&at, &array.shape)]);
                    }
                    at[*axis] -= array.shape[*axis];
                }
                Err("past all parts".into())
            })
        }
        Op::Slice { axis, .. } => {
            let (from, to) = (int(of[1]), int(of[2]));
            if from < 0 || to < from || to as u64 > of[0].shape[*axis] {
                return Err(format!("a slice from {from} to {to} of {}", of[0].shape[*axis]));
            }
            let mut shape = of[0].shape.clone();
            shape[*axis] = (to - from) as u64;
            let whole = of[0].shape.clone();
            filled(ty, shape, |at| {
                let mut at = at.to_vec();
                at[*axis] += from as u64;
                Ok(of[0].data[exact_number(&at, &whole)])
            })
        }
        Op::Gather { axis, .. } => {
            let mut shape = of[0].shape.clone();
            shape.splice(*axis..=*axis, of[1].shape.clone());
            let behind = axis + of[1].shape.len();
            filled(ty, shape, |at| {
                if of[0].shape[*axis] == 0 {
                    // Behind a branch that is not taken: nobody looks.
                    return Ok(0);
                }
                let place = scalar(of[1], exact_number(&at[*axis..behind], &of[1].shape)).as_int();
                if place < 0 || place >= i128::from(of[0].shape[*axis]) {
                    return Err(format!("a read at {place} of {}", of[0].shape[*axis]));
                }
                let from = [&at[..*axis], &[place as u64], &at[behind..]].concat();
                Ok(of[0].data[exact_number(&from, &of[0].shape)])
            })
        }
        Op::Range(_) => {
            let end = int(of[0]).max(0) as u64;
            Ok(Array { ty, shape: vec![end], data: (0..end).collect() })
        }
        Op::Reduce(by, _, axes) => {
            let by = operator(*by);
            let kept: Vec<usize> = (0..of[0].shape.len()).filter(|axis| !axes.contains(axis)).collect();
            let shape: Vec<u64> = kept.iter().map(|&axis| of[0].shape[axis]).collect();
            let mut found: Vec<Option<Scalar>> = vec![None; count(&shape) as usize];
            for k in 0..of[0].data.len() {
                let at = position(k as u64, &of[0].shape);
                let to: Vec<u64> = kept.iter().map(|&axis| at[axis]).collect();
                let place = &mut found[exact_number(&to, &shape)];
                let own = scalar(of[0], k);
                *place = Some(place.map_or(own, |before| combined(by, before, own)));
            }
            let none = by.row().identity.at(ty).expect("reductions have a neutral element");
            Ok(Array { ty, shape, data: found.into_iter().map(|found| found.unwrap_or(none).bits).collect() })
        }
        Op::Prefixes(_, axis) => {
            let mut data = of[0].data.clone();
            for k in 0..data.len() {
                let mut before = position(k as u64, &of[0].shape);
                if before[*axis] > 0 {
                    before[*axis] -= 1;
                    let last = Scalar::from_bits(ty, data[exact_number(&before, &of[0].shape)]);
                    data[k] = combined(Operator::Add, last, Scalar::from_bits(ty, data[k])).bits;
                }
            }
            Ok(Array { ty, shape: of[0].shape.clone(), data })
        }
        Op::MatMul(..) => {
            let rank = of[0].shape.len();
            let mut shape = of[0].shape.clone();
            shape[rank - 1] = of[1].shape[rank - 1];
            filled(ty, shape, |at| {
                let mut sum = Scalar::from_int(ty, 0);
                for k in 0..of[0].shape[rank - 1] {
                    let left = [&at[..rank - 1], &[k]].concat();
                    let right = [&at[..rank - 2], &[k, at[rank - 1]]].concat();
                    let a = scalar(of[0], exact_number(&left, &of[0].shape));
                    let b = scalar(of[1], exact_number(&right, &of[1].shape));
                    let product = combined(Operator::Mul, a, b);
                    sum = if k == 0 { product } else { combined(Operator::Add, sum, product) };
                }
                Ok(sum.bits)
            })
        }
        Op::Convolve(..) => {
            let rank = of[0].shape.len();
            let window = &of[1].shape[1..];
            let slid = (2..rank).map(|axis| of[0].shape[axis] + 1 - of[1].shape[axis]);
            let shape = [of[0].shape[0], of[1].shape[0]].into_iter().chain(slid).collect();
            filled(ty, shape, |at| {
                let mut sum = Scalar::from_int(ty, 0);
                for k in 0..count(window) {
                    let within = position(k, window);
                    let places: Vec<u64> = at[2..].iter().zip(&within[1..]).map(|(place, by)| place + by).collect();
                    let from = [&[at[0], within[0]], &places[..]].concat();
                    let weight = [&[at[1]], &within[..]].concat();
                    let a = scalar(of[0], exact_number(&from, &of[0].shape));
                    let b = scalar(of[1], exact_number(&weight, &of[1].shape));
                    sum = combined(Operator::Add, sum, combined(Operator::Mul, a, b));
                }
                Ok(sum.bits)
            })
        }
        Op::Scatter { by, .. } => {
            let mut data = of[0].data.clone();
            for k in 0..of[2].data.len() {
                let place = scalar(of[1], k).as_int() as usize;
                let before = Scalar::from_bits(ty, *data.get(place).ok_or("a scatter outside")?);
                data[place] = combined(operator(*by), before, scalar(of[2], k)).bits;
            }
            Ok(Array { ty, shape: of[0].shape.clone(), data })
        }
        Op::Places(_) => {
            let data: Vec<u64> = (0..of[0].data.len() as u64).filter(|&k| of[0].data[k as usize] != 0).collect();
            Ok(Array { ty, shape: vec![data.len() as u64], data })
        }
        Op::Input(_) | Op::Param | Op::Const(_) | Op::While { .. } | Op::Part(..) => Err("computed elsewhere".into()),
    }
}

fn exact_number(position: &[u64], shape: &[u64]) -> usize {
    position.iter().zip(shape).fold(0, |number, (at, extent)| number * extent + at) as usize
}
