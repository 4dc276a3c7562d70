//! Positions past 32 bits on a GPU with the memory for it: maps, folds, scans and filters of more than 2^32 elements.
#![cfg(feature = "cuda")]

use slyz_run::cuda::Cuda;
use slyz_run::{Argument, ArrayData, Device};
use slyz_sir::text::parse_program;
use slyz_sir::types::Ty;

type R = Result<(), Box<dyn std::error::Error>>;

/// A little more, so that the last block is not whole.
const N: u64 = (1 << 32) + 12_345;

const MADE: &str = "program made<N>(%one: u8[1]) -> u8[N] {
  %zero: i64 = const 0
  %few: i64 = const 251
  %y: u8[N] = tabulate [N] |%i: i64| {
    %r: i64 = rem %i, %few
    %b: u8 = cast %r
    %a: u8 = at %one[%zero]
    %c: u8 = mul %b, %a
    yield %c
  }
  return %y }";

const READ: &str = "program read<N, counted K>(%x: u8[N]) -> (i64, i64[K], u8[N]) {
  %zero: i64 = const 0
  %none: u8 = const 0
  %sum: i64 = fold [N] |%i: i64| { %a: u8 = at %x[%i]  %b: i64 = cast %a  yield %b }
    with commutative (%zero) |%p: i64, %q: i64| { %r: i64 = add %p, %q  yield %r }
  %far: i64 = const 1073741824
  %at: i64 = const 7
  %kept: i64[K] = filter N as K |%j: i64| { %m: i64 = rem %j, %far  %here: bool = eq %m, %at  yield %here, %j }
  %s: u8[N] = scan [N] |%k: i64| { %c: u8 = at %x[%k]  yield %c }
    with (%none) |%t: u8, %u: u8| { %v: u8 = add %t, %u  yield %v }
  return %sum, %kept, %s }";

#[test]
fn positions_past_32_bits() -> R {
    if !Cuda::is_usable() {
        return Ok(());
    }
    let device = Cuda::new(0);
    let one = [1u8];
    let shape = [1];
    let argument = Argument::Array { ty: Ty::U8, shape: (&shape[..]).into(), data: ArrayData::Host(&one) };
    let made = device.compile(&parse_program(MADE)?)?.run(&[Some(N)], &[argument])?;
    let shape = [N];
    let data = ArrayData::Buffer(&made[0].data);
    let argument = Argument::Array { ty: Ty::U8, shape: (&shape[..]).into(), data };
    let read = device.compile(&parse_program(READ)?)?.run(&[Some(N), None], &[argument])?;
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, &byte| n << 8 | u64::from(byte));
    let whole = |n: u64| n / 251 * (250 * 251 / 2) + (n % 251) * (n % 251).saturating_sub(1) / 2;
    assert_eq!(number(read[0].data.bytes()?), whole(N));
    let kept: Vec<u64> = read[1].data.bytes()?.chunks_exact(8).map(number).collect();
    assert_eq!(kept, (0..=4).map(|k| (k << 30) + 7).collect::<Vec<_>>());
    let scanned = read[2].data.bytes()?;
    let made = made[0].data.bytes()?;
    for place in [0, 1, 250, 251, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, N - 1] {
        assert_eq!(u64::from(made[place as usize]), place % 251, "at {place}");
        assert_eq!(u64::from(scanned[place as usize]), whole(place + 1) % 256, "up to {place}");
    }
    Ok(())
}
