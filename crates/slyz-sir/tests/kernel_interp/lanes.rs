//! What subgroups do in lanes that are there. Other programs that are right are in the corpus.

use crate::code::*;
use crate::*;
use slyz_sir::code::*;
use slyz_sir::ops::Operator;
use slyz_sir::size::Size;

fn one() -> Size {
    Size::Const(1)
}

#[test]
fn subgroup_operations_see_active_lanes_only() {
    let mut c = Code::new();
    let out = c.memory("out", Ty::I64, BOTH, vec![Size::Const(6), Size::Const(8)]);
    let t = c.place(Place::Local, 0);
    let (one_, two, three) = (c.int(1), c.int(2), c.int(3));
    let rem = c.apply(Operator::Rem, &[t, two]);
    let odd = c.eq(rem, one_);
    let ops =
        [(SubgroupOp::Reduce(Operator::Add), t), (SubgroupOp::Scan(Operator::Add), t), (SubgroupOp::Broadcast, t)];
    c.when(odd, |c| {
        for (k, (op, arg)) in ops.into_iter().enumerate() {
            let (row, value) = (c.int(k as i64), c.subgroup(op, Ty::I64, &[arg]));
            c.store(out, &[row, t], &[value]);
        }
        let small = c.lt(t, three);
        let votes = c.subgroup(SubgroupOp::Ballot, Ty::U64, &[small]);
        let votes = c.emit(&[Ty::I64], Op::Bitcast(Ty::I64, votes))[0];
        c.store(out, &[three, t], &[votes]);
    });
    for (k, op) in [(4, SubgroupOp::ShuffleUp), (5, SubgroupOp::ShuffleDown)] {
        let (row, value) = (c.int(k), c.subgroup(op, Ty::I64, &[t, two]));
        c.store(out, &[row, t], &[value]);
    }
    let kernel = c.kernel("lanes", &[], [one(), one(), one()], [8, 1, 1]);
    let mut memories = [ints(&[6, 8], vec![-1; 48])];
    let options = LaunchOptions { subgroup_size: 4, ..LaunchOptions::default() };
    launch(&kernel, &[], &mut memories, &[], &options).unwrap();
    let expected = [
        [-1, 4, -1, 4, -1, 12, -1, 12],
        [-1, 1, -1, 4, -1, 5, -1, 12],
        [-1, 1, -1, 1, -1, 5, -1, 5],
        [-1, 2, -1, 2, -1, 0, -1, 0],
        [0, 1, 0, 1, 4, 5, 4, 5],
        [2, 3, 2, 3, 6, 7, 6, 7],
    ];
    assert_eq!(to_ints(&memories[0]), expected.concat());
}
