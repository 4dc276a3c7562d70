//! The collective words as files of the corpus, `tests/corpus/collective_*.sir`: every word with elements of several types, at sizes
//! around those of vectors and blocks and a few that are large, so that each device, the plans and Metal's kernels are held to the interpreter.
//!
//! A program makes its data, and its results are told by sums with weights. `BLESS=1` writes the files anew.

use slyz::prelude::*;
use slyz::{Function, Module, Signature};
use slyz_sir::program::Program;
use std::path::Path;

type R<T = ()> = Result<T, Box<dyn std::error::Error>>;

axis!(N, K, Runs, S);

/// Nothing, one, around a vector, and a few vectors.
const SIZES: &[u64] = &[0, 1, 31, 32, 33, 1000];

/// Larger than whatever is done at once.
const LARGE: u64 = 65_537;
const TO_LARGE: &[u64] = &[0, 1, 31, 32, 33, 1000, LARGE];

/// So many that only machines take them, not the interpreters.
const MANY: u64 = 10_000_000;
const TO_MANY: &[u64] = &[0, 1, 31, 32, 33, 1000, MANY];

const ALL: &[u64] = &[0, 1, 31, 32, 33, 1000, LARGE, MANY];

/// For types whose code differs from another's by widths only: every road once.
const FEW: &[u64] = &[0, 1, 33, 1000];
const FEW_TO_LARGE: &[u64] = &[0, 1, 33, 1000, LARGE];

/// For what has five elements at least.
const FIVE: &[u64] = &[5, 33, 300];
const FIVE_TO_LARGE: &[u64] = &[5, 33, 300, LARGE];

/// A program and the sizes that it is tried with: one of a type is enough for what is done with many elements.
type Sized = (Program, &'static [u64]);

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

/// The words whose code depends on the type, of numbers with signs where there are any.
fn words<T: Num>() -> [Exp<u32>; 6] {
    let x = data::<T>(1).map(|v| v - small(3));
    let group = data::<u32>(2);
    let heads = data::<u32>(3).map(|v| v.eq(0));
    let largest: Arr<T, Fix<7>> = scatter(MaxOf, |i: Idx<N>| (Near::new(group.at(i)), x.at(i)));
    let sorted = x.sort();
    let place = |k: u32| sorted.search_sorted(small::<T>(k) - small(2), Side::Left).number().cast::<u32>();
    [
        digest(whole(x.scan(MaxOf))),
        digest(whole(largest)),
        digest(whole(x.filter::<K>(|v| v.gt(small(1))))),
        digest(whole(x.segmented_scan(MinOf, heads))),
        digest(whole(sorted)),
        place(0) + place(4) * 3,
    ]
}

fn whole<T: Num, A: Axis>(x: Arr<T, A>) -> Arr<i32, A> {
    x.map(|v| v.cast::<i32>())
}

/// The same of `bool`.
fn bools() -> [Exp<u32>; 5] {
    let x = data::<u32>(1).map(|v| v.eq(0));
    let group = data::<u32>(2);
    let heads = group.map(|v| v.eq(0));
    let found: Arr<bool, N> = scatter(Any, |i: Idx<N>| (Near::new(i.u32() / 8 * 8 + group.at(i)), x.at(i)));
    [
        digest(x.scan(Any).cast::<u32>()),
        digest(found.cast::<u32>()),
        digest(x.compact::<K>(heads).cast::<u32>()),
        digest(x.segmented_scan(Any, heads).cast::<u32>()),
        digest(x.sort().cast::<u32>()),
    ]
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

/// Numbers with something in every byte.
fn wide(salt: u32) -> Arr<u64, N> {
    tabulate(|i: Idx<N>| (i.u32() + salt * 77_777).cast::<u64>() * 0x9e37_79b9_7f4a_7c15u64)
}

/// Both halves of each number.
fn halves<A: Axis>(x: Arr<u64, A>) -> Exp<u32> {
    digest(x.map(|v| (v >> 32).cast::<u32>() ^ (v & 0xffff_ffffu64).cast::<u32>()))
}

fn wide_sums() -> [Exp<u32>; 3] {
    let x = wide(1);
    [halves(x.scan(Sum)), halves(x.scan_exclusive(MaxOf)), halves(x.scan(MinOf))]
}

fn sort_wide() -> [Exp<u32>; 3] {
    let x = wide(1);
    let signed = x.map(|v| v.cast::<i64>()).sort();
    let floats = signed.map(|v| (v >> 12i64).cast::<f64>()).sort_by_key(|v| v.descending());
    [halves(x.sort()), halves(signed.map(|v| v.cast::<u64>())), halves(floats.map(|v| v.cast::<i64>().cast::<u64>()))]
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

fn kept<T: Num>() -> [Exp<u32>; 4] {
    let x = data::<T>(1);
    let (parted, count) = x.partition(|v| v.cast::<u32>().ge(2));
    let (values, lengths) = x.map(|v| v.max(small(3))).run_length::<Runs>();
    [digest(x.filter::<K>(|v| v.gt(small(4)))), digest(parted) + count, digest(values), digest(lengths)]
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

/// Of sorts only the first elements: with many that are equal, of numbers that get better all the way, and by two keys.
fn firsts<T: Num>() -> [Exp<u32>; 4] {
    let x = data::<T>(1);
    let y = data::<u32>(2);
    let (best, places) = x.top_k::<Fix<5>>();
    let rising: Arr<u32, N> = tabulate(|i: Idx<N>| i.u32() * 3 + y.at(i) % 3);
    let by_both = x.zip(y).argsort_by_key(|(x, y)| y.descending().then(x));
    [
        digest(best.map(|v| v.cast::<i32>())),
        digest_of_positions(places),
        digest(rising.top_k::<Fix<3>>().0),
        digest_of_positions(by_both.slice::<Fix<4>>(0)),
    ]
}

/// The same of rows.
fn firsts_of_rows() -> Exp<u32> {
    let x = data::<u32>(1);
    let rows: Arr<u32, (N, Fix<70>)> = tabulate(|(i, j): Pos<(N, Fix<70>)>| x.at(i) + noise(j.u32() + i.u32()));
    let (_, places) = rows.innermost().top_k::<Fix<2>>();
    places.map_at(|(i, j), place| place.u32() * (i.u32() * 2 + j.u32() + 1)).sum()
}

/// Scatters of which most turns send nothing.
fn sparse() -> [Exp<u32>; 4] {
    let x = data::<u32>(1);
    let is_seldom = data::<u32>(2).eq(0);
    let n = Idx::<N>::extent().cast::<u32>().max(1);
    let place = |i: Idx<N>| i.u32() * 7_919 % n;
    let any: Arr<bool, N> = scatter(Any, |i: Idx<N>| (Near::new(place(i)), is_seldom.at(i)));
    let least: Arr<u32, N> =
        scatter(MinOf, |i: Idx<N>| (Near::new(place(i)), is_seldom.at(i).select(x.at(i), u32::MAX)));
    let sums: Arr<f32, N> = scatter(Sum, |i: Idx<N>| {
        let to = is_seldom.at(i).select(place(i).cast::<i64>() / 3, -1i64);
        (Near::new(to), x.at(i).cast::<f32>())
    });
    let more = x.scatter_add(|i: Idx<N>| (Near::new(place(i)), is_seldom.at(i).select(x.at(i), 0)));
    [digest(any.cast::<u32>()), digest(least), digest(sums), digest(more)]
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
fn hold(file: &str, what: &str, programs: &[Sized]) -> R {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").join(format!("collective_{file}.sir"));
    let head = format!("// {what}, made by crates/slyz-tests/tests/collective_corpus.rs.\n");
    if std::env::var_os("BLESS").is_some() {
        let mut text = head;
        for (program, sizes) in programs {
            text += &format!("\n{program}");
            for &size in *sizes {
                text += &case(program, size)?;
            }
        }
        std::fs::write(&path, text).expect("the corpus is writable");
    }
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let stale = programs.iter().find(|(program, _)| !text.contains(&format!("\n{program}case")));
    assert!(stale.is_none(), "{} is not of now; BLESS=1 writes it", path.display());
    Ok(())
}

/// A function over some types, each with its sizes.
macro_rules! types {
    ($f:ident: $($t:ident $sizes:ident),*) => {
        [$((traced(concat!(stringify!($f), "_", stringify!($t)), $f::<$t>)?, $sizes)),*]
    };
}

#[test]
fn files() -> R {
    // With `i32` there is every word below, and with very many elements, too.
    let narrow = types!(words: u32 TO_LARGE, f32 TO_LARGE, i64 SIZES, u8 SIZES, i16 SIZES, f16 SIZES, f64 SIZES);
    let wide = types!(words: u64 FEW_TO_LARGE, i8 FEW, u16 FEW, bf16 FEW);
    let bools = [(traced("words_bool", bools)?, SIZES)];
    hold("words", "Every word, with all types", &[&narrow[..], &wide, &bools].concat())?;
    hold("scans", "Scans", &types!(scans: i32 TO_MANY, u8 TO_LARGE, u64 FEW_TO_LARGE, i64 FEW, f64 FEW))?;
    hold(
        "sums",
        "Scans with sums, and one whose order matters",
        &[(traced("sums", sums)?, ALL), (traced("wide_sums", wide_sums)?, FEW_TO_LARGE)],
    )?;
    hold("scatters", "Scatters", &types!(scatters: i32 TO_MANY, f32 TO_LARGE, u64 FEW_TO_LARGE, i64 FEW, f64 FEW))?;
    let by_user = traced("scatters_by_user", scatters_by_user)?;
    hold("scatters_by_user", "Scatters without atomics", &[(by_user, ALL)])?;
    hold("kept", "Filters, partitions and runs", &types!(kept: i32 TO_MANY, u8 TO_LARGE, u64 FEW_TO_LARGE, f64 FEW))?;
    hold("segments", "Segments", &types!(segments: i32 TO_MANY, f32 TO_LARGE, u64 FEW_TO_LARGE, f64 FEW))?;
    let mut programs = types!(sorts: f32 SIZES, i32 TO_LARGE, u64 FEW_TO_LARGE).to_vec();
    programs.push((traced("sort_many", || digest(data::<u32>(1).map(|v| v * 1_000_003).sort()))?, TO_MANY));
    programs.push((traced("sort_wide", sort_wide)?, FEW_TO_LARGE));
    hold("sorts", "Sorts", &programs)?;
    let mut programs = types!(firsts: i32 FIVE_TO_LARGE, u64 FIVE).to_vec();
    programs.push((traced("firsts_of_rows", firsts_of_rows)?, &[5, 33]));
    hold("firsts", "The first elements of sorts", &programs)?;
    hold("sparse", "Scatters that seldom send", &[(traced("sparse", sparse)?, FEW_TO_LARGE)])?;
    let programs = types!(searches: i32 TO_MANY, f32 TO_LARGE, u64 FEW_TO_LARGE, f64 FEW);
    hold("searches", "Searches, merges and shifts", &programs)?;
    hold("randoms", "Random numbers", &[(traced("randoms", randoms)?, TO_MANY)])?;
    Ok(())
}
