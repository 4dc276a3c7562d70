//! The collective words as files of the corpus, `tests/corpus/collective_*.sir`: every word with elements of several types, at sizes
//! around those of vectors and blocks, so that each device, the plans and Metal's kernels are held to the interpreter.
//!
//! A program makes its data, and its results are told by sums with weights. `BLESS=1` writes the files anew.

use slyz::prelude::*;
use slyz::{Function, Module, Signature};
use slyz_sir::program::Program;
use std::path::Path;

type R<T = ()> = Result<T, Box<dyn std::error::Error>>;

axis!(N, K, M, Runs, S);

/// Nothing, one, around a vector, and larger than whatever is done at once.
const SIZES: [u64; 7] = [0, 1, 31, 32, 33, 1000, 65_537];

/// So many that only machines take them, not the interpreters of their plans.
const MANY: u64 = 10_000_000;

/// Small whole numbers that look random.
fn data<T: Num>(salt: u32) -> Arr<T, N> {
    tabulate(|i: Idx<N>| noise(i.u32() + salt * 77_777).cast::<T>())
}

fn small<T: Num>(number: u32) -> Exp<T> {
    lit(number).cast::<T>()
}

/// From 0 to 7.
fn noise(number: Exp<u32>) -> Exp<u32> {
    let mixed = number * 2_654_435_761u32;
    ((mixed ^ (mixed >> 15)) * 2_246_822_519u32) >> 29
}

/// What an array holds, and in which order.
fn digest<T: Num, A: Axis>(x: Arr<T, A>) -> Exp<u32> {
    x.map_at(|i, v| v.cast::<u32>() * (i.u32() * 2 + 1)).sum()
}

fn digest_of_positions<A: Axis, B: Axis>(x: Arr<At<A>, B>) -> Exp<u32> {
    x.map_at(|k, i| i.u32() * (k.u32() * 2 + 1)).sum()
}

/// Maps `x -> a x + b` modulo 2³²: the order matters.
fn composing() -> impl Monoid<(u32, u32)> {
    monoid((1u32, 0u32), |(a, b), (c, d): (Exp<u32>, Exp<u32>)| (a * c, b * c + d))
}

fn maps() -> Arr<(u32, u32), N> {
    data::<u32>(1).zip(data::<u32>(2)).map(|(a, b)| (a * 2 + 1, b))
}

fn digest_of_maps<A: Axis>(x: Arr<(u32, u32), A>) -> Exp<u32> {
    digest(x.map(|(a, b)| a ^ (b * 3)))
}

fn scans<T: Num>() -> [Exp<u32>; 3] {
    let x = data::<T>(1);
    let columns: Arr<T, (N, Fix<3>)> = tabulate(|(i, j): (Idx<N>, Idx<Fix<3>>)| x.at(i) + j.u32().cast::<T>());
    let down = columns.over(N).scan(MaxOf);
    [digest(x.scan(MaxOf)), digest(x.scan_exclusive(MinOf)), digest(down.over(Fix::<3>).sum())]
}

fn sums() -> [Exp<u32>; 3] {
    let ones = data::<f32>(3).map(|v| v - 3.0);
    [
        digest(data::<u32>(1).scan(Sum)),
        digest(ones.scan(Sum).map(|v| v.cast::<i32>())),
        digest_of_maps(maps().scan(composing())),
    ]
}

fn scatters<T: Num>() -> [Exp<u32>; 3] {
    let x = data::<T>(1);
    let group = data::<u32>(2);
    let counts: Arr<u32, Fix<7>> = scatter(Sum, |i: Idx<N>| (Near::new(group.at(i)), 1u32));
    let largest: Arr<T, Fix<7>> = scatter(MaxOf, |i: Idx<N>| (Near::new(group.at(i)), x.at(i)));
    let smallest: Arr<T, N> = scatter(MinOf, |i: Idx<N>| (Near::new(i.u32() / 8 * 8 + group.at(i)), x.at(i)));
    [digest(counts), digest(largest.map(|v| v.cast::<i32>())), digest(smallest)]
}

fn scatters_by_user() -> [Exp<u32>; 2] {
    let group = data::<u32>(2);
    let composed: Arr<(u32, u32), Fix<8>> = scatter(composing(), |i: Idx<N>| (Near::new(group.at(i)), maps().at(i)));
    let sums: Arr<f32, Fix<5>> = scatter(Sum, |i: Idx<N>| (Near::new(group.at(i)), group.at(i).cast::<f32>()));
    [digest_of_maps(composed), digest(sums)]
}

fn kept<T: Num>() -> [Exp<u32>; 6] {
    let x = data::<T>(1);
    let mask = data::<u32>(2).map(|v| v.lt(3));
    let (parted, count) = x.partition(|v| v.cast::<u32>().ge(2));
    let (values, lengths) = x.map(|v| v.max(small(3))).run_length::<Runs>();
    [
        digest(x.filter::<K>(|v| v.gt(small(4)))),
        digest(x.compact::<S>(mask)),
        digest(parted) + count,
        digest(values),
        digest(lengths),
        x.filter::<M>(|v| v.gt(small(9))).len().cast::<u32>(),
    ]
}

fn segments<T: Num>() -> [Exp<u32>; 3] {
    let x = data::<T>(1);
    let heads = data::<u32>(2).map(|v| v.eq(0));
    let lengths = data::<u32>(3);
    [
        digest(x.segmented_scan(MaxOf, heads)),
        digest(x.segmented_fold::<S>(MaxOf, heads)),
        digest(x.segmented_fold(MinOf, Segments::by_lengths(lengths))),
    ]
}

fn sorts<T: Num>() -> [Exp<u32>; 4] {
    let x = data::<T>(1);
    let y = data::<u32>(2);
    [
        digest(x.sort()),
        digest_of_positions(x.argsort()),
        digest(x.zip(y).sort_by_key(|(x, y)| y.descending().then(x)).map(|(x, y)| x.cast::<u32>() * 8 + y)),
        digest_of_positions(lexsort((x, y))),
    ]
}

fn searches<T: Num>() -> [Exp<u32>; 4] {
    let x: Arr<T, N> = tabulate(|i: Idx<N>| (i.u32() / 9 % 100).cast::<T>()).scan(MaxOf);
    let y: Arr<T, Fix<50>> = tabulate(|i: Idx<Fix<50>>| (i.u32() * 2).cast::<T>());
    let places = y.map(|v| x.search_sorted(v, Side::Right).number().cast::<u32>());
    [digest(places), digest(merge(x, y)), digest(x.roll(5)), digest(x.shift(-3, small::<T>(1)))]
}

fn randoms() -> [Exp<u32>; 4] {
    let integers = random::integers::<u8, N>(5, 1..7);
    let tenths = random::uniform::<f32, N>(7).map(|v| (v * 1024.0).cast::<u32>());
    let order = random::permutation::<N>(9);
    [digest(random::bits::<N>(3)), digest(integers), digest(tenths), digest_of_positions(order)]
}

fn traced<Sig: Signature, F: Function<Sig>>(name: &str, f: F) -> R<Program> {
    let mut module = Module::new();
    module.kernel(name, f)?;
    Ok(module.programs()[0].clone())
}

/// What the interpreter finds; of very many, which would take it minutes, what the CPU finds.
fn case(program: &Program, size: u64) -> R<String> {
    let sizes: Vec<Option<u64>> = program.sizes.iter().map(|decl| (decl.name == "N").then_some(size)).collect();
    let device = slyz::device(if size == MANY { "cpu" } else { "interpreter" })?;
    let found = device.compile(program)?.run(&sizes, &[])?;
    let mut expected = vec![];
    for result in found {
        let word = u32::from_le_bytes(result.data.bytes()?.try_into()?);
        expected.push(format!("expect u32 {word}"));
    }
    Ok(format!("case \"{size} elements\" N={size} {{ {} }}\n", expected.join("  ")))
}

/// Holds a file to its programs; with `BLESS=1` writes it.
fn hold(file: &str, what: &str, many: usize, programs: &[Program]) -> R {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").join(format!("collective_{file}.sir"));
    let head = format!("// {what}, made by crates/slyz-tests/tests/collective_corpus.rs.\n");
    if std::env::var_os("BLESS").is_some() {
        let mut text = head;
        for (number, program) in programs.iter().enumerate() {
            text += &format!("\n{program}");
            let last = (number == many).then_some(MANY);
            for size in SIZES.into_iter().chain(last) {
                text += &case(program, size)?;
            }
        }
        std::fs::write(&path, text).expect("the corpus is writable");
    }
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let stale = programs.iter().find(|program| !text.contains(&format!("\n{program}case")));
    assert!(stale.is_none(), "{} is not of now; BLESS=1 writes it", path.display());
    Ok(())
}

macro_rules! types {
    ($f:ident: $($t:ident)*) => {
        [$(traced(concat!(stringify!($f), "_", stringify!($t)), $f::<$t>)?),*]
    };
}

#[test]
fn files() -> R {
    hold("scans", "Scans", 0, &types!(scans: i32 u8 i16 u64 f16 f32 f64))?;
    hold("sums", "Scans with sums, and one whose order matters", 0, &[traced("sums", sums)?])?;
    hold("scatters", "Scatters", 0, &types!(scatters: i32 u8 f32))?;
    hold("scatters_by_user", "Scatters without atomics", 9, &[traced("scatters_by_user", scatters_by_user)?])?;
    hold("kept", "Filters, partitions and runs", 0, &types!(kept: i32 u8 f32))?;
    hold("segments", "Segments", 0, &types!(segments: i32 u8 f32))?;
    let mut programs = types!(sorts: i32 u8 u64 f32).to_vec();
    programs.push(traced("sort_many", || digest(data::<u32>(1).map(|v| v * 1_000_003).sort()))?);
    hold("sorts", "Sorts", 4, &programs)?;
    hold("searches", "Searches, merges and shifts", 0, &types!(searches: i32 u8 f32))?;
    hold("randoms", "Random numbers", 9, &[traced("randoms", randoms)?])?;
    Ok(())
}
