//! How far operators on `f32` are from the table, measured: fills columns of the table in `docs/src/precision.md`.
//!
//! `cargo run --release -p slyz-run --example ulps -- docs/src/precision.md NAME` measures the CPU, and the GPU under that name at
//! `native` and at `table`. `SLYZ_ADAPTER` chooses the GPU. Columns of other devices stay as they are.
//!
//! `… -- docs/src/precision.md all exp ln` measures operators of one operand on the CPU, over all 2^32 of them.

use slyz_run::cpu::{Cpu, CpuConfig};
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

/// The largest distance of a device over all floats there are; subnormal and infinite results count as any other.
fn worst_of_all(device: &dyn Device, row: &Row) -> R<u64> {
    let code = device.compile(&program(row)?)?;
    let meaning = row.on_floats.ok_or("an operator on floats")?;
    let mut worst = 0;
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
            of_floor.unwrap_or_else(|| distance(value, found))
        };
        let threads = std::thread::available_parallelism()?.get();
        let size = CHUNK.div_ceil(threads);
        worst = std::thread::scope(|scope| {
            let parts = inputs.chunks(size).zip(found.chunks(size));
            let part = |(inputs, found): (&[f32], &[f32])| inputs.iter().zip(found).map(off).max().unwrap_or(0);
            let running: Vec<_> = parts.map(|both| scope.spawn(move || part(both))).collect();
            running.into_iter().map(|part| part.join().unwrap_or(u64::MAX)).fold(worst, u64::max)
        });
    }
    Ok(worst)
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

fn main() -> R<()> {
    let args: Vec<String> = std::env::args().collect();
    let (path, name, some) = match &args[..] {
        [_, path, all, some @ ..] if all == "all" => (path, None, some),
        [_, path, name] => (path, Some(name), &[][..]),
        _ => return Err("the page and the name of the GPU, please, or the page, `all` and operators".into()),
    };
    let page = std::fs::read_to_string(path)?;
    let mut table = Table::read(&page);
    match name {
        Some(name) => measure_devices(&mut table, name)?,
        None => measure_all(&mut table, some)?,
    }
    let before: Vec<&str> = page.lines().take_while(|line| !line.starts_with('|')).collect();
    let after: Vec<&str> = page.lines().skip(before.len()).skip_while(|line| line.starts_with('|')).collect();
    let page = format!("{}\n{}{}", before.join("\n"), table.text(), after.join("\n"));
    std::fs::write(path, format!("{}\n", page.trim_end()))?;
    Ok(())
}

fn cell(ulp: u64) -> String {
    if ulp > 1 << 20 { "> 2^20".to_string() } else { ulp.to_string() }
}

/// What a row promises.
fn promised(row: &Row) -> String {
    if row.floor > 0.0 { format!("{}, below {} of that", row.ulp, row.floor) } else { row.ulp.to_string() }
}

fn measure_all(table: &mut Table, some: &[String]) -> R<()> {
    let cpu = Cpu::new(CpuConfig::from_env());
    let wanted = |row: &&Row| row.arity == 1 && (some.is_empty() || some.iter().any(|name| name == row.name));
    for row in operators().filter(wanted) {
        let worst = worst_of_all(&cpu, row)?;
        println!("{}: {worst}", row.name);
        table.set(row, "promised", promised(row));
        table.set(row, "cpu, all 2^32", cell(worst));
    }
    Ok(())
}

fn measure_devices(table: &mut Table, name: &str) -> R<()> {
    let samples = samples();
    let cpu = Cpu::new(CpuConfig::from_env());
    let wish = std::env::var("SLYZ_ADAPTER").ok();
    let gpu = |precision| Wgpu::new(wish.as_deref()).with_precision(precision);
    let devices: [(String, Box<dyn Device>); 3] = [
        ("cpu".to_string(), Box::new(cpu)),
        (format!("{name}, native"), Box::new(gpu(Precision::Native))),
        (format!("{name}, table"), Box::new(gpu(Precision::Table))),
    ];
    for row in operators() {
        table.set(row, "promised", promised(row));
        for (column, device) in &devices {
            table.set(row, column, cell(worst(&**device, row, &samples)?));
        }
    }
    Ok(())
}
