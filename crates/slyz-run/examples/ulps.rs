//! How far operators on `f32` are from the table, measured: fills columns of the table in `docs/src/precision.md`. Other columns stay as they are.
//!
//! ```text
//! ulps PAGE cpu                         the column of the CPU
//! ulps PAGE wgpu NAME                   columns of a GPU by wgpu, at `native` and at `table`; `SLYZ_ADAPTER` chooses the GPU
//! ulps PAGE cuda NAME                   the same by CUDA
//! ulps PAGE cpu all [OPERATOR…]         operators of one operand over all 2^32 of them; all operators if none is named
//! ulps PAGE cuda NAME all [OPERATOR…]   the same on a GPU, at `table`
//! ```
//!
//! `cargo run --release -p slyz-run --example ulps -- docs/src/precision.md cpu`, for instance. Built, it is one file that needs no source.

use slyz_run::cpu::{Cpu, CpuConfig};
use slyz_run::cuda::Cuda;
use slyz_run::wgpu::Wgpu;
use slyz_run::{Argument, ArrayData, Device};
use slyz_sir::choices::Precision;
use slyz_sir::ops::{Operator, Row, Signature, TABLE};
use slyz_sir::program::Program;
use slyz_sir::text::parse_program;
use slyz_sir::types::{Scalar, Ty};
use std::collections::BTreeMap;

type R<T> = Result<T, Box<dyn std::error::Error>>;

/// Operands of each operator.
const SAMPLES: usize = 1 << 18;

/// Operators whose results are floats.
fn operators() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(|row| row.domain.has(Ty::F32) && row.signature == Signature::Same)
}

/// Numbers up to a hundred, and numbers of any size between 2^-20 and 2^20.
fn samples() -> [Vec<f32>; 3] {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut number = |k: usize| {
        let sign = if next() < 0.5 { -1.0 } else { 1.0 };
        let size = if k.is_multiple_of(2) { next() * 100.0 } else { (next() * 40.0 - 20.0).exp2() };
        (sign * size) as f32
    };
    std::array::from_fn(|_| (0..SAMPLES).map(&mut number).collect())
}

fn program(row: &Row) -> R<Program> {
    let names = ["%p", "%q", "%r"];
    let args = &names[..row.arity];
    let loads: Vec<String> =
        args.iter().zip(["%a", "%b", "%c"]).map(|(p, a)| format!("{p}: f32 = at {a}[%i]")).collect();
    let text = format!(
        "program f<N>(%a: f32[N], %b: f32[N], %c: f32[N]) -> f32[N] {{
           %y: f32[N] = tabulate [N] |%i: i64| {{ {}  %v: f32 = {} {}  yield %v }}
           return %y }}",
        loads.join("  "),
        row.name,
        args.join(", ")
    );
    Ok(parse_program(&text)?)
}

/// Values between two numbers of one sign or both.
fn distance(a: f32, b: f32) -> u64 {
    let place = |x: f32| {
        let bits = i64::from(x.to_bits() & 0x7fff_ffff);
        if x.is_sign_negative() { -bits } else { bits }
    };
    if a.is_nan() && b.is_nan() { 0 } else { place(a).abs_diff(place(b)) }
}

fn expected(operator: Operator, args: &[f32]) -> Option<f32> {
    let args: Vec<Scalar> = args.iter().map(|&x| Scalar::f32(x)).collect();
    let value = operator.eval(&args)?.as_f64() as f32;
    let plain = value.is_finite() && (value == 0.0 || value.abs() > 1e-34);
    plain.then_some(value)
}

/// The largest distance of a device over all samples.
fn worst(device: &dyn Device, row: &Row, samples: &[Vec<f32>; 3]) -> R<u64> {
    let code = device.compile(&program(row)?)?;
    let array = |k: usize| {
        let bytes = bytemuck::cast_slice(&samples[k]);
        Argument::Array { ty: Ty::F32, shape: vec![SAMPLES as u64].into(), data: ArrayData::Host(bytes) }
    };
    let results = code.run(&[Some(SAMPLES as u64)], &[array(0), array(1), array(2)])?;
    let host = results[0].data.to_host()?;
    let found: Vec<f32> = bytemuck::pod_collect_to_vec(host.bytes()?);
    let at = |k: usize| {
        let args: Vec<f32> = samples[..row.arity].iter().map(|column| column[k]).collect();
        let off = |value: f32| {
            let of_floor = row.units_of_floor(Scalar::f32(value), Scalar::f32(found[k]));
            of_floor.unwrap_or_else(|| distance(value, found[k]))
        };
        expected(row.operator, &args).map_or(0, off)
    };
    Ok((0..SAMPLES).map(at).max().unwrap_or(0))
}

/// Operands of a call when all of them are measured.
const CHUNK: usize = 1 << 22;

/// The largest distance of a device over all floats there are, and the operand where it is; subnormal and infinite results count as any other.
fn worst_of_all(device: &dyn Device, row: &Row) -> R<(u64, f32)> {
    let code = device.compile(&program(row)?)?;
    let meaning = row.on_floats.ok_or("an operator on floats")?;
    let mut worst = (0, 0);
    for chunk in 0..1u64 << 10 {
        let first = (chunk as u32) << 22;
        let inputs: Vec<f32> = (0..CHUNK as u32).map(|k| f32::from_bits(first + k)).collect();
        let shape = vec![CHUNK as u64];
        let data = || ArrayData::Host(bytemuck::cast_slice(&inputs));
        let array = || Argument::Array { ty: Ty::F32, shape: shape.clone().into(), data: data() };
        let results = code.run(&[Some(CHUNK as u64)], &[array(), array(), array()])?;
        let host = results[0].data.to_host()?;
        let found: Vec<f32> = bytemuck::pod_collect_to_vec(host.bytes()?);
        let off = |(&x, &found): (&f32, &f32)| {
            let value = meaning(Ty::F32, &[f64::from(x)]) as f32;
            let of_floor = || row.units_of_floor(Scalar::f32(value), Scalar::f32(found));
            let of_floor = if row.floor > 0.0 { of_floor() } else { None };
            (of_floor.unwrap_or_else(|| distance(value, found)), x.to_bits())
        };
        let threads = std::thread::available_parallelism()?.get();
        let size = CHUNK.div_ceil(threads);
        worst = std::thread::scope(|scope| {
            let parts = inputs.chunks(size).zip(found.chunks(size));
            let part = |(inputs, found): (&[f32], &[f32])| inputs.iter().zip(found).map(off).max().unwrap_or_default();
            let running: Vec<_> = parts.map(|both| scope.spawn(move || part(both))).collect();
            running.into_iter().map(|part| part.join().unwrap_or((u64::MAX, 0))).fold(worst, Ord::max)
        });
    }
    Ok((worst.0, f32::from_bits(worst.1)))
}

/// The table of a page: operators, and their cells by column.
struct Table {
    columns: Vec<String>,
    cells: BTreeMap<String, BTreeMap<String, String>>,
}

impl Table {
    fn read(page: &str) -> Table {
        let cut =
            |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect::<Vec<_>>();
        let mut lines = page.lines().filter(|line| line.starts_with('|')).map(cut);
        let columns = lines.next().map_or(vec![], |head| head[1..].to_vec());
        let mut cells: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for line in lines.skip(1) {
            cells.insert(line[0].clone(), columns.iter().cloned().zip(line[1..].iter().cloned()).collect());
        }
        Table { columns, cells }
    }

    fn set(&mut self, row: &Row, column: &str, cell: String) {
        if !self.columns.iter().any(|known| known == column) {
            self.columns.push(column.to_string());
        }
        self.cells.entry(format!("`{}`", row.name)).or_default().insert(column.to_string(), cell);
    }

    fn text(&self) -> String {
        let mut text =
            format!("| operator | {} |\n|---{}|\n", self.columns.join(" | "), "|---".repeat(self.columns.len()));
        for row in operators() {
            let name = format!("`{}`", row.name);
            let cell = |column: &String| self.cells.get(&name).and_then(|cells| cells.get(column)).cloned();
            let cells: Vec<String> = self.columns.iter().map(|column| cell(column).unwrap_or_default()).collect();
            text += &format!("| {name} | {} |\n", cells.join(" | "));
        }
        text
    }
}

/// What the command line asks for.
struct Wish<'a> {
    page: &'a str,
    device: &'a str,
    /// How the page calls the device.
    name: &'a str,
    /// The operators to try with all operands, or nothing for all operators with some.
    all: Option<&'a [String]>,
}

impl Wish<'_> {
    fn of(args: &[String]) -> R<Wish<'_>> {
        let (page, device, name, rest) = match args {
            [page, device, rest @ ..] if device == "cpu" => (page, device, device, rest),
            [page, device, name, rest @ ..] if device == "wgpu" || device == "cuda" => (page, device, name, rest),
            _ => {
                return Err(
                    "`PAGE cpu`, `PAGE wgpu NAME` or `PAGE cuda NAME`, please; `all` and operators may follow".into()
                );
            }
        };
        let all = match rest {
            [] => None,
            [all, some @ ..] if all == "all" => Some(some),
            [other, ..] => return Err(format!("`all` and operators may follow, not `{other}`").into()),
        };
        let is_measured = |name: &String| operators().any(|row| row.arity == 1 && row.name == name);
        match all.unwrap_or_default().iter().find(|name| !is_measured(name)) {
            Some(other) => Err(format!("`{other}` is no operator on one `f32`").into()),
            None => Ok(Wish { page, device, name, all }),
        }
    }

    /// The device; a CPU has one precision.
    fn device(&self, precision: Precision) -> Box<dyn Device> {
        match self.device {
            "cpu" => Box::new(Cpu::new(CpuConfig::from_env())),
            "cuda" => Box::new(Cuda::new(0).with_precision(precision)),
            _ => Box::new(Wgpu::new(std::env::var("SLYZ_ADAPTER").ok().as_deref()).with_precision(precision)),
        }
    }

    /// The columns to fill, and their devices.
    fn columns(&self) -> Vec<(String, Box<dyn Device>)> {
        let precisions = match (self.device, self.all) {
            ("cpu", _) => return vec![(self.name.to_string(), self.device(Precision::Table))],
            (_, Some(_)) => &[Precision::Table][..],
            (_, None) => &[Precision::Native, Precision::Table],
        };
        let column = |&precision: &Precision| (format!("{}, {precision}", self.name), self.device(precision));
        precisions.iter().map(column).collect()
    }
}

fn main() -> R<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let wish = Wish::of(&args)?;
    let page = std::fs::read_to_string(wish.page)?;
    let mut table = Table::read(&page);
    match wish.all {
        Some(some) => measure_all(&wish, &mut table, some)?,
        None => measure_some(&wish, &mut table)?,
    }
    let before: Vec<&str> = page.lines().take_while(|line| !line.starts_with('|')).collect();
    let after: Vec<&str> = page.lines().skip(before.len()).skip_while(|line| line.starts_with('|')).collect();
    let page = format!("{}\n{}{}", before.join("\n"), table.text(), after.join("\n"));
    std::fs::write(wish.page, format!("{}\n", page.trim_end()))?;
    Ok(())
}

fn cell(ulp: u64) -> String {
    if ulp > 1 << 20 { "> 2^20".to_string() } else { ulp.to_string() }
}

/// What a row promises.
fn promised(row: &Row) -> String {
    match row {
        Row { floor, .. } if *floor > 0.0 => format!("{}, below {floor} of that", row.ulp),
        Row { own: 1.., .. } => format!("{}, a GPU's own {}", row.ulp, row.ulp + row.own),
        _ => row.ulp.to_string(),
    }
}

fn measure_all(wish: &Wish, table: &mut Table, some: &[String]) -> R<()> {
    let wanted = |row: &&Row| row.arity == 1 && (some.is_empty() || some.iter().any(|name| name == row.name));
    for (column, device) in &wish.columns() {
        for row in operators().filter(wanted) {
            let (worst, at) = worst_of_all(&**device, row)?;
            println!("{}: {worst} at {at:e}", row.name);
            table.set(row, "promised", promised(row));
            table.set(row, &format!("{column}, all 2^32"), cell(worst));
        }
    }
    Ok(())
}

fn measure_some(wish: &Wish, table: &mut Table) -> R<()> {
    let samples = samples();
    for (column, device) in &wish.columns() {
        for row in operators() {
            table.set(row, "promised", promised(row));
            table.set(row, column, cell(worst(&**device, row, &samples)?));
        }
    }
    Ok(())
}
