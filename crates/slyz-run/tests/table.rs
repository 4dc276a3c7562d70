//! Every operator of the table, every conversion and every bit cast, on every type: the CPU and Metal against the table.
//!
//! All operators on a type are one program with many results, so that few files are compiled. It exists twice: over arrays,
//! where values live in vectors, and on scalars, where they do not. Values are the edges of the type, pairs and triples
//! of them, and random bits. What is not checked: operators on constants, which the passes evaluate with the table itself.
#![cfg(feature = "cpu")]

mod devices;
mod shim;

use devices::distance;
use slyz_run::Device;
use slyz_sir::interp::{Array, Value};
use slyz_sir::ops::{Operator, Signature, TABLE};
use slyz_sir::program::Program;
use slyz_sir::text::parse_program;
use slyz_sir::types::{Scalar, Ty, int_range};

/// What a result of the program of a type is.
#[derive(Clone, Copy, Debug)]
enum Entry {
    Apply(Operator),
    Cast(Ty),
    Bitcast(Ty),
}

/// Operands: three of the type, an exponent, and a condition.
type Row = [Scalar; 5];

impl Entry {
    /// Everything that is defined on a type.
    fn all(ty: Ty) -> Vec<Entry> {
        let operators = TABLE.iter().filter(|row| row.domain.has(ty)).map(|row| Entry::Apply(row.operator));
        let same_bits = move |to: &Ty| ty != Ty::Bool && to.bits() == ty.bits();
        operators
            .chain(Ty::ALL.into_iter().map(Entry::Cast))
            .chain(Ty::ALL.into_iter().filter(same_bits).map(Entry::Bitcast))
            .collect()
    }

    #[cfg(feature = "wgpu")]
    fn applied(self) -> Option<Operator> {
        match self {
            Entry::Apply(operator) => Some(operator),
            Entry::Cast(_) | Entry::Bitcast(_) => None,
        }
    }

    /// Which operands it takes, by place in a row.
    fn operands(self) -> Vec<usize> {
        match self {
            Entry::Cast(_) | Entry::Bitcast(_) => vec![0],
            Entry::Apply(operator) => match operator.row().signature {
                Signature::Same | Signature::Test => (0..operator.row().arity).collect(),
                Signature::IntPower => vec![0, 3],
                Signature::Select => vec![4, 0, 1],
            },
        }
    }

    fn result(self, ty: Ty) -> Ty {
        match self {
            Entry::Cast(to) | Entry::Bitcast(to) => to,
            Entry::Apply(operator) => match operator.row().signature {
                Signature::Test => Ty::Bool,
                Signature::Same | Signature::IntPower | Signature::Select => ty,
            },
        }
    }

    /// The operation in text, on `%a %b %c %k %p`.
    fn text(self) -> String {
        let names: Vec<&str> = self.operands().into_iter().map(|k| ["%a", "%b", "%c", "%k", "%p"][k]).collect();
        match self {
            Entry::Cast(_) => "cast %a".into(),
            Entry::Bitcast(_) => "bitcast %a".into(),
            Entry::Apply(operator) => format!("{} {}", operator.name(), names.join(", ")),
        }
    }

    /// The meaning, and how far a device may be off.
    fn expected(self, row: &Row) -> (Scalar, u64) {
        match self {
            Entry::Cast(to) => (row[0].cast(to), 0),
            Entry::Bitcast(to) => (Scalar::from_bits(to, row[0].bits), 0),
            Entry::Apply(operator) => {
                let args: Vec<Scalar> = self.operands().into_iter().map(|k| row[k]).collect();
                let value = operator.eval(&args).expect("the table is total on its domain");
                (value, if value.ty.is_float() { operator.row().ulp.into() } else { 0 })
            }
        }
    }

    /// How far a result is from the one that is expected, as the operator's row counts.
    fn apart(self, expected: Scalar, found: Scalar) -> u64 {
        let of_floor = self.applied().and_then(|operator| operator.row().units_of_floor(expected, found));
        of_floor.unwrap_or_else(|| distance(expected.ty, expected.bits, found.bits))
    }

    fn name(self, ty: Ty) -> String {
        match self {
            Entry::Cast(to) => format!("cast {ty} to {to}"),
            Entry::Bitcast(to) => format!("bitcast {ty} to {to}"),
            Entry::Apply(operator) => format!("{} on {ty}", operator.name()),
        }
    }
}

/// All entries of a type over arrays, one element after the other.
fn over_arrays(ty: Ty, entries: &[Entry]) -> Program {
    let results: Vec<Ty> = entries.iter().map(|e| e.result(ty)).collect();
    let list = |f: &dyn Fn(usize) -> String| (0..entries.len()).map(f).collect::<Vec<_>>().join(", ");
    let body: String = (0..entries.len()).map(|k| format!("%v{k}: {} = {}\n", results[k], entries[k].text())).collect();
    let reads = [("a", ty), ("b", ty), ("c", ty), ("k", Ty::I32), ("p", Ty::Bool)]
        .map(|(name, ty)| format!("%{name}: {ty} = at %{name}s[%i]\n"));
    let text = format!(
        "program table<N>(%as: {ty}[N], %bs: {ty}[N], %cs: {ty}[N], %ks: i32[N], %ps: bool[N]) -> ({}) {{
         {} = tabulate [N] |%i: i64| {{ {}{body} yield {} }}
         return {} }}",
        list(&|k| format!("{}[N]", results[k])),
        list(&|k| format!("%r{k}: {}[N]", results[k])),
        reads.concat(),
        list(&|k| format!("%v{k}")),
        list(&|k| format!("%r{k}")),
    );
    parse_program(&text).expect("text of a program")
}

/// All entries of a type on scalars.
fn on_scalars(ty: Ty, entries: &[Entry]) -> Program {
    let results: Vec<Ty> = entries.iter().map(|e| e.result(ty)).collect();
    let list = |f: &dyn Fn(usize) -> String| (0..entries.len()).map(f).collect::<Vec<_>>().join(", ");
    let body: String = (0..entries.len()).map(|k| format!("%v{k}: {} = {}\n", results[k], entries[k].text())).collect();
    let text = format!(
        "program table(%a: {ty}, %b: {ty}, %c: {ty}, %k: i32, %p: bool) -> ({}) {{ {body} return {} }}",
        list(&|k| results[k].to_string()),
        list(&|k| format!("%v{k}")),
    );
    parse_program(&text).expect("text of a program")
}

/// SplitMix64, so that the values are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Any bits, a number of any width, or a float of a size that functions do something with.
    fn value(&mut self, ty: Ty) -> Scalar {
        match self.next() % 3 {
            0 => Scalar::from_bits(ty, self.next()),
            1 if ty.is_float() => {
                let size = [1.0, 10.0, 100.0, 1000.0][(self.next() % 4) as usize];
                Scalar::from_f64(ty, (self.next() as i64 as f64) / (i64::MAX as f64) * size)
            }
            _ => {
                let shift = self.next() % u64::from(ty.bits());
                let bits = Scalar::from_bits(ty, self.next()).bits >> shift;
                Scalar::from_bits(ty, if self.next().is_multiple_of(4) { !bits } else { bits })
            }
        }
    }
}

/// Values of a type that tend to break things, the most likely ones first.
fn edges(ty: Ty) -> Vec<Scalar> {
    if ty == Ty::Bool {
        return [false, true].map(Scalar::bool).to_vec();
    }
    if !ty.is_float() {
        let ((low, high), bits) = (int_range(ty), i128::from(ty.bits()));
        let values = [0, 1, -1, low, high, 2, 3, -7, low + 1, high - 1, bits, bits - 1, bits + 1, high / 2, 10, 100];
        return values.map(|x| Scalar::from_int(ty, x)).to_vec();
    }
    let (mantissa, sign) = match ty {
        Ty::F16 => (10, 1u64 << 15),
        Ty::BF16 => (7, 1 << 15),
        Ty::F32 => (23, 1 << 31),
        _ => (52, 1 << 63),
    };
    let infinity = Scalar::from_f64(ty, f64::INFINITY).bits;
    let one = Scalar::from_f64(ty, 1.0).bits;
    // Smallest and largest subnormal, smallest normal, largest finite, neighbours of one.
    let by_bits = [1, (1 << mantissa) - 1, 1 << mantissa, infinity - 1, one - 1, one + 1];
    let numbers = [
        0.0,
        1.0,
        f64::INFINITY,
        0.5,
        2.0,
        3.75,
        2.5,
        1.5,
        7.0,
        100.0,
        1e-3,
        1e-8,
        0.99,
        127.5,
        128.0,
        255.5,
        256.0,
        // Where exp, exp2, sinh and cosh overflow or vanish: f32, f64, f16.
        88.722_83,
        88.722_84,
        87.336_54,
        89.5,
        103.28,
        103.972_08,
        104.0,
        126.0,
        149.0,
        150.0,
        1023.9,
        1024.0,
        1074.0,
        1075.0,
        708.4,
        709.782_712_893_384,
        709.782_712_893_385,
        710.475,
        745.13,
        745.2,
        11.09,
        12.0,
        16.0,
        17.4,
        24.5,
        25.0,
        // Trigonometry: near multiples of pi/2, and huge.
        std::f64::consts::FRAC_PI_4,
        std::f64::consts::FRAC_PI_2,
        std::f64::consts::PI,
        4.712_389,
        6.283_185_5,
        355.0,
        39_000.0,
        48_000.0,
        1e5,
        33_554_432.0,
        1e10,
        1e15,
        1e22,
        1e30,
        3e38,
        1e300,
        // Where integers end.
        32_767.5,
        32_768.0,
        65_504.0,
        65_519.996,
        65_520.0,
        65_535.5,
        65_536.0,
        8_388_607.5,
        16_777_216.0,
        2_147_483_520.0,
        2_147_483_647.5,
        2_147_483_648.0,
        4_294_967_040.0,
        4_294_967_296.0,
        4_503_599_627_370_497.5,
        9_007_199_254_740_992.0,
        9.223_372_036_854_775e18,
        9.223_372_036_854_776e18,
        1.844_674_407_370_955e19,
        1.844_674_407_370_955_2e19,
    ];
    let values: Vec<u64> = numbers.iter().map(|x| Scalar::from_f64(ty, *x).bits).chain(by_bits).collect();
    let mut edges: Vec<Scalar> = vec![Scalar::from_f64(ty, f64::NAN)];
    edges.extend(values.iter().flat_map(|bits| [*bits, bits | sign]).map(|bits| Scalar { ty, bits }));
    edges
}

/// Rows of operands: every edge, pairs and triples of the first ones, then `random` ones by chance.
fn rows(ty: Ty, random: usize) -> Vec<Row> {
    let edges = edges(ty);
    let mut by_chance = Random(ty as u64);
    let powers = [0, 1, -1, 2, 3, -2, 7, 10, 31, -31, 127, -126, 1000, i32::MAX, i32::MIN];
    let mut rows: Vec<Row> = vec![];
    let mut add = |a: Scalar, b: Scalar, c: Scalar, k: i32| {
        let place = rows.len();
        rows.push([a, b, c, Scalar::from_int(Ty::I32, k.into()), Scalar::bool(place.is_multiple_of(3))]);
    };
    for (n, &a) in edges.iter().enumerate() {
        for (m, &b) in edges.iter().take(48).enumerate() {
            add(a, b, edges[(n * 7 + m * 3) % edges.len()], powers[(n + m) % powers.len()]);
        }
    }
    let few = edges.len().min(11);
    for n in 0..few * few * few {
        add(edges[n % few], edges[n / few % few], edges[n / few / few], powers[n % powers.len()]);
    }
    for _ in 0..random {
        let k = by_chance.next() as i32 >> (by_chance.next() % 32);
        let [a, b, c] = [0; 3].map(|_| by_chance.value(ty));
        add(a, b, c, k);
    }
    rows
}

/// What one entry got wrong.
struct Wrong {
    what: String,
    count: usize,
    /// The largest distance; the first row that is that far off.
    worst: u64,
    example: String,
}

/// Collects the differences of one entry over all rows.
fn compare(entry: Entry, ty: Ty, how: &str, rows: &[Row], found: &dyn Fn(usize) -> Scalar) -> Option<Wrong> {
    compare_by(entry, ty, how, rows, found, &off)
}

/// How far a result is off, or 0 within the slack of its row.
fn off(entry: Entry, row: &Row, found: Scalar) -> u64 {
    let (expected, slack) = entry.expected(row);
    let off = entry.apart(expected, found);
    if off <= slack { 0 } else { off }
}

fn compare_by(
    entry: Entry,
    ty: Ty,
    how: &str,
    rows: &[Row],
    found: &dyn Fn(usize) -> Scalar,
    off: &dyn Fn(Entry, &Row, Scalar) -> u64,
) -> Option<Wrong> {
    let mut wrong: Option<Wrong> = None;
    for (n, row) in rows.iter().enumerate() {
        let found = found(n);
        let off = off(entry, row, found);
        if off == 0 {
            continue;
        }
        let (expected, _) = entry.expected(row);
        let wrong = wrong.get_or_insert_with(|| Wrong {
            what: format!("{}, {how}", entry.name(ty)),
            count: 0,
            worst: 0,
            example: String::new(),
        });
        wrong.count += 1;
        if off > wrong.worst {
            let args: Vec<Scalar> = entry.operands().into_iter().map(|k| row[k]).collect();
            wrong.worst = off;
            wrong.example = format!("{args:?} gives {found:?}, expected {expected:?}");
        }
    }
    wrong
}

fn arrays_agree(device: &dyn Device, how: &str, types: &[Ty]) {
    let mut wrong = vec![];
    for &ty in types {
        wrong.extend(differences(device, how, ty, &Entry::all(ty)));
    }
    report(&wrong);
}

fn differences(device: &dyn Device, how: &str, ty: Ty, entries: &[Entry]) -> Vec<Wrong> {
    differences_by(device, how, ty, entries, &off)
}

fn differences_by(
    device: &dyn Device,
    how: &str,
    ty: Ty,
    entries: &[Entry],
    off: &dyn Fn(Entry, &Row, Scalar) -> u64,
) -> Vec<Wrong> {
    let mut wrong = vec![];
    {
        let rows = rows(ty, 3000);
        let column = |k: usize| {
            let data = rows.iter().map(|row: &Row| row[k].bits).collect();
            Value::Array(Array { ty: rows[0][k].ty, shape: vec![rows.len() as u64], data })
        };
        let args = [0, 1, 2, 3, 4].map(column);
        let found = devices::run(device, &over_arrays(ty, entries), &[Some(rows.len() as u64)], &args);
        let found = found.unwrap_or_else(|error| panic!("{ty}, {how}: {error}"));
        for (entry, found) in entries.iter().zip(&found) {
            let Array { ty: to, data, .. } = devices::as_array(found);
            wrong.extend(compare_by(*entry, ty, how, &rows, &|n| Scalar { ty: to, bits: data[n] }, off));
        }
    }
    wrong
}

fn report(wrong: &[Wrong]) {
    let lines = wrong.iter().map(|w| format!("{}: {} wrong, by {} ulp: {}", w.what, w.count, w.worst, w.example));
    assert!(wrong.is_empty(), "{} entries:\n{}", wrong.len(), lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn vectors_of_integers() {
    let types: Vec<Ty> = Ty::ALL.into_iter().filter(|ty| !ty.is_float()).collect();
    arrays_agree(&devices::narrow(), "vectors", &types);
}

#[test]
fn vectors_of_floats() {
    let types: Vec<Ty> = Ty::ALL.into_iter().filter(|ty| ty.is_float()).collect();
    arrays_agree(&devices::narrow(), "vectors", &types);
}

#[test]
fn vectors_in_wide_code() {
    arrays_agree(&devices::wide(), "wide vectors", &[Ty::Bool, Ty::I64, Ty::U64, Ty::F64]);
}

/// Metal passes few buffers to a kernel, so the entries of a type are several programs there.
#[test]
fn metal_kernels() {
    let (mut programs, mut parts) = (vec![], vec![]);
    for ty in Ty::ALL.into_iter().filter(|&ty| ty != Ty::F64) {
        let entries: Vec<Entry> = Entry::all(ty).into_iter().filter(|e| e.result(ty) != Ty::F64).collect();
        for (k, entries) in entries.chunks(20).enumerate() {
            let mut program = over_arrays(ty, entries);
            program.name = format!("table_{ty}_{k}");
            programs.push(program);
            parts.push((ty, entries.to_vec()));
        }
    }
    let project = slyz_sir::back::harness::Project::metal(&programs).expect("everything but f64 is in Metal");
    let kernels = project.entries.iter().flat_map(|e| &e.kernels);
    let Some(library) = shim::build(shim::Language::Metal, &project.source, kernels) else { return };
    let mut wrong = vec![];
    for ((ty, entries), entry) in parts.iter().zip(&project.entries) {
        let rows = rows(*ty, 3000);
        let column = |k: usize| {
            let data = rows.iter().map(|row: &Row| row[k].bits).collect();
            Value::Array(Array { ty: rows[0][k].ty, shape: vec![rows.len() as u64], data })
        };
        let found = library.run(entry, &[Some(rows.len() as u64)], &[0, 1, 2, 3, 4].map(column));
        let found = found.unwrap_or_else(|error| panic!("{ty}: {error}"));
        for (entry, found) in entries.iter().zip(&found) {
            let Array { ty: to, data, .. } = devices::as_array(found);
            wrong.extend(compare(*entry, *ty, "Metal", &rows, &|n| Scalar { ty: to, bits: data[n] }));
        }
    }
    report(&wrong);
}

#[cfg(feature = "wgpu")]
#[test]
fn on_gpus() {
    let mut wrong = vec![];
    for devices::Gpu { name, device, lacks } in devices::gpus() {
        let types: Vec<Ty> = match std::env::var("SLYZ_TYPE") {
            Ok(name) => Ty::from_name(&name).into_iter().collect(),
            Err(_) => Ty::ALL.to_vec(),
        };
        for ty in types {
            // A kernel of few results: GPUs bind few buffers.
            let entries = Entry::all(ty);
            let plain = lacks.contains(&"SHADER_INT64");
            let wide = |ty: Ty| ty.bits() == 64;
            if plain && wide(ty) {
                continue;
            }
            // `SLYZ_ENTRY=part` keeps the entries with that in their name.
            let part = std::env::var("SLYZ_ENTRY").unwrap_or_default();
            let asked = |e: &Entry| e.name(ty).contains(&part) && !(plain && wide(e.result(ty)));
            let wanted: Vec<Entry> = entries.into_iter().filter(asked).collect();
            for some in wanted.chunks(7) {
                wrong.extend(differences(&*device, name, ty, some));
            }
        }
    }
    report(&wrong);
}

/// Every operator on `f32` at `Precision::Table`: within its row, where nothing is near to subnormal numbers.
#[cfg(feature = "wgpu")]
#[test]
fn table_on_gpus() {
    use slyz_run::wgpu::Wgpu;
    use slyz_sir::choices::Precision::Table;
    let mut gpus: Vec<(&str, Box<dyn Device>)> = vec![];
    #[cfg(feature = "cuda")]
    if slyz_run::cuda::Cuda::is_usable() {
        gpus.push(("cuda", Box::new(slyz_run::cuda::Cuda::new(0).with_precision(Table))));
    }
    #[cfg(feature = "opencl")]
    if devices::has_opencl() {
        gpus.push((devices::OPENCL, Box::new(slyz_run::opencl::OpenCl::new(None).with_precision(Table))));
    }
    if devices::has_gpu() {
        let wish = std::env::var("SLYZ_ADAPTER").ok();
        gpus.push(("wgpu", Box::new(Wgpu::new(wish.as_deref()).with_precision(Table))));
        gpus.push(("wgpu, plain", Box::new(Wgpu::plain(wish.as_deref()).with_precision(Table))));
    }
    let mut wrong = vec![];
    for (name, device) in gpus {
        let part = std::env::var("SLYZ_ENTRY").unwrap_or_default();
        let entries = Entry::all(Ty::F32).into_iter().filter(|entry| entry.result(Ty::F32).bits() <= 32);
        let wanted: Vec<Entry> = entries.filter(|entry| entry.name(Ty::F32).contains(&part)).collect();
        for some in wanted.chunks(7) {
            wrong.extend(differences_by(&*device, name, Ty::F32, some, &off_at_table));
        }
    }
    report(&wrong);
}

/// How far a result is off, past what may be at `Table`.
#[cfg(feature = "wgpu")]
fn off_at_table(entry: Entry, row: &Row, found: Scalar) -> u64 {
    // So near to subnormal numbers that those come up on the way.
    let size = |x: Scalar| if x.ty == Ty::F32 { f32::from_bits(x.bits as u32).abs() } else { 0.0 };
    let tiny = |x: Scalar| size(x) > 0.0 && size(x) < 1e-34;
    let (expected, slack) = entry.expected(row);
    if tiny(expected) || tiny(found) || entry.operands().into_iter().any(|k| tiny(row[k])) {
        return 0;
    }
    let off = entry.apart(expected, found);
    let slack = match entry.applied() {
        // By numbers past 2^126, quotients may be zero.
        Some(Operator::Div) if size(row[1]) > 8.5e37 => return 0,
        Some(Operator::Powi) if row[3].as_int() < 0 => slack + u64::from(Operator::Div.row().own),
        // In one rounding or in two.
        Some(Operator::Fma) => {
            let [a, b, c] = [0, 1, 2].map(|k| f32::from_bits(row[k].bits as u32));
            let twice = distance(Ty::F32, u64::from((a * b + c).to_bits()), found.bits);
            return off.min(twice);
        }
        applied => slack + applied.map_or(0, |operator| u64::from(operator.row().own)),
    };
    off.saturating_sub(slack)
}

#[test]
fn scalars() {
    let device = devices::narrow();
    let mut wrong = vec![];
    for ty in Ty::ALL {
        let (entries, rows) = (Entry::all(ty), rows(ty, 100));
        // A call for each row: fewer of them will do, in steps that go around all pairs.
        let rows: Vec<Row> =
            rows.into_iter().enumerate().filter(|(n, _)| n.is_multiple_of(5)).map(|(_, row)| row).collect();
        let program = on_scalars(ty, &entries);
        let found: Vec<Vec<u64>> = rows
            .iter()
            .map(|row| {
                let found = devices::run(&device, &program, &[], &row.map(Value::Scalar));
                let found = found.unwrap_or_else(|error| panic!("{ty}, scalars: {error}"));
                found.iter().map(|value| devices::as_array(value).data[0]).collect()
            })
            .collect();
        for (k, entry) in entries.iter().enumerate() {
            let to = entry.result(ty);
            wrong.extend(compare(*entry, ty, "scalars", &rows, &|n| Scalar { ty: to, bits: found[n][k] }));
        }
    }
    report(&wrong);
}
