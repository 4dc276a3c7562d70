//! PageRank: which pages of a web matter, by the links between them. Each turn every page shares its rank among those it links to, by
//! `scatter_add`; the turns are a loop of the function.
//!
//! `cargo run --release --example pagerank`

use slyz::prelude::*;

axis!(Pages, Links);

/// How often a reader follows a link, rather than opening any page at all.
const FOLLOWS: f32 = 0.85;

type Rank = Arr<f32, Pages>;

/// The share of all readers that each page has after some turns. Who reads a page without links opens any page.
fn pagerank(from: Arr<At<Pages>, Links>, to: Arr<At<Pages>, Links>, turns: Exp<u32>) -> Rank {
    let pages = Idx::<Pages>::extent().cast::<f32>();
    let links: Arr<u32, Pages> = scatter(Sum, |l: Idx<Links>| (from.at(l), 1u32));
    let start: Rank = fill(1.0 / pages);
    iterate(turns, start, |_, rank: Rank| {
        let stuck = sum(|p: Idx<Pages>| links.at(p).eq(0).select(rank.at(p), 0.0));
        let anywhere: Rank = fill((1.0 - FOLLOWS + FOLLOWS * stuck) / pages);
        let share: Rank = tabulate(|p| FOLLOWS * rank.at(p) / links.at(p).max(1).cast::<f32>());
        anywhere.scatter_add(|l: Idx<Links>| (to.at(l), share.at(from.at(l))))
    })
}

fn main() -> Result<(), slyz::Error> {
    let rank = slyz::compile(pagerank)?;
    match std::env::args().nth(1).as_deref() {
        Some("--source") => {
            println!("{}", rank.source());
            return Ok(());
        }
        Some("--explain") => {
            println!("{}", rank.explain());
            return Ok(());
        }
        _ => {}
    }
    let (pages, turns) = (5_000, 40);
    let links = web(pages);
    let side = |pick: fn(&[usize; 2]) -> usize| -> Vec<At<Pages>> {
        links.iter().map(|link| At::new(pick(link) as u64)).collect()
    };
    let found = rank.size::<Pages>(pages).call(&side(|l| l[0]), &side(|l| l[1]), turns)?.to_vec()?;

    let exact = plain(&links, pages, turns);
    let off = found.iter().zip(&exact).map(|(a, b)| (f64::from(*a) - b).abs() / b).fold(0.0, f64::max);
    println!("{pages} pages, {} links: no rank is off by more than {off:.1e} of itself", links.len());
    assert!(off < 1e-4);
    let mut order: Vec<usize> = (0..pages).collect();
    order.sort_by(|&p, &q| found[q].total_cmp(&found[p]));
    for page in &order[..5] {
        println!("page {page:4}  {:.2} % of the readers", 100.0 * found[*page]);
    }
    Ok(())
}

/// Links that lead to old pages more often than to new ones. Every tenth page has none.
fn web(pages: usize) -> Vec<[usize; 2]> {
    let mut seed = 5u32;
    let mut dice = move || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(seed >> 8) / 16_777_216.0
    };
    let linking = (0..pages).filter(|page| page % 10 != 9);
    linking.flat_map(|page| [page; 8]).map(|page| [page, (pages as f64 * dice().powi(3)) as usize]).collect()
}

/// The same in plain Rust and in double precision.
fn plain(links: &[[usize; 2]], pages: usize, turns: u32) -> Vec<f64> {
    let follows = f64::from(FOLLOWS);
    let mut leaving = vec![0u32; pages];
    links.iter().for_each(|link| leaving[link[0]] += 1);
    let mut rank = vec![1.0 / pages as f64; pages];
    for _ in 0..turns {
        let stuck: f64 = (0..pages).filter(|&p| leaving[p] == 0).map(|p| rank[p]).sum();
        let mut next = vec![(1.0 - follows + follows * stuck) / pages as f64; pages];
        for &[from, to] in links {
            next[to] += follows * rank[from] / f64::from(leaving[from]);
        }
        rank = next;
    }
    rank
}
