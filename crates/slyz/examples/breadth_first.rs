//! Breadth-first search: how many steps each node of a graph is from one of them. A turn goes through all edges at once, and the turns end
//! when no node is new.
//!
//! `cargo run --release --example breadth_first`

use slyz::prelude::*;
use std::collections::VecDeque;

axis!(Nodes, Edges);

/// The level of nodes that are not reached.
const FAR: u32 = u32::MAX;

type Levels = Arr<u32, Nodes>;

/// The level of each node, and how many levels there are.
fn search(from: Arr<At<Nodes>, Edges>, to: Arr<At<Nodes>, Edges>, start: Exp<u32>) -> (Levels, Exp<u32>) {
    let levels: Levels = tabulate(|n: Idx<Nodes>| n.u32().eq(start).select(0, FAR));
    let (levels, count, _) = repeat_while(
        (levels, 0u32, true),
        |(_, _, grows)| grows,
        |(levels, last, _): (Levels, Exp<u32>, Exp<bool>)| {
            let next = last + 1;
            let levels = levels.scatter(MinOf, |e: Idx<Edges>| {
                let leads_on = levels.at(from.at(e)).eq(last);
                (to.at(e), leads_on.select(next, FAR))
            });
            (levels, next, any(|n: Idx<Nodes>| levels.at(n).eq(next)))
        },
    );
    (levels, count)
}

fn main() -> Result<(), slyz::Error> {
    let search = slyz::compile(search)?;
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}", search.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}", search.explain());
            return Ok(());
        }
        _ => {}
    }
    let (nodes, start) = (20_000, 7);
    let edges = small_world(nodes);
    let side = |pick: fn(&[usize; 2]) -> usize| -> Vec<At<Nodes>> {
        edges.iter().map(|edge| At::new(pick(edge) as u64)).collect()
    };
    let (levels, count) = search.size::<Nodes>(nodes).call(&side(|e| e[0]), &side(|e| e[1]), start as u32)?;
    let (levels, count) = (levels.to_vec()?, count.value()?);
    assert_eq!(levels, plain(&edges, nodes, start), "a search by a queue finds other levels");
    for level in (0..count).step_by(5) {
        println!("{:6} nodes are {level} steps away", levels.iter().filter(|l| **l == level).count());
    }
    println!("{:6} nodes cannot be reached", levels.iter().filter(|l| **l == FAR).count());
    Ok(())
}

/// A ring with a thousand shortcuts across it. The last tenth of the nodes is left out.
fn small_world(nodes: usize) -> Vec<[usize; 2]> {
    let mut seed = 3u32;
    let ring = nodes - nodes / 10;
    let mut lot = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % ring
    };
    let near = (0..ring).map(|n| [n, (n + 1) % ring]);
    let across: Vec<[usize; 2]> = (0..1000).map(|_| [lot(), lot()]).collect();
    near.chain(across).flat_map(|[a, b]| [[a, b], [b, a]]).collect()
}

/// The same by a queue.
fn plain(edges: &[[usize; 2]], nodes: usize, start: usize) -> Vec<u32> {
    let mut beside = vec![vec![]; nodes];
    edges.iter().for_each(|&[from, to]| beside[from].push(to));
    let mut levels = vec![FAR; nodes];
    levels[start] = 0;
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &other in &beside[node] {
            if levels[other] == FAR {
                levels[other] = levels[node] + 1;
                queue.push_back(other);
            }
        }
    }
    levels
}
