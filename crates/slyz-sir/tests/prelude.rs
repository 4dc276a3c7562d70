//! The C prelude against the operator table: compiled by the system's C compiler with the flags of real kernels, run on
//! edge values and pseudo-random operands, and compared with the meaning that the table gives.
//!
//! A function of the prelude becomes a case: operands come from memory through `load_T` and results go back through
//! `store_T`, so those are tested on the way. Cases are built into a library linked without the C library, which shows
//! that the prelude calls nothing.

use slyz_sir::back::c::prelude;
use slyz_sir::ops::{Operator, Signature, TABLE};
use slyz_sir::types::{Scalar, Ty};
use std::collections::BTreeSet;
use std::f64::consts;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The flags of real kernels, and every warning an error.
const FLAGS: &str = "-O2 -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv -fPIC -shared -nostdlib -Wno-psabi \
                     -Wall -Wextra -Wno-unused-function -Werror -Wl,-z,defs";

/// What a case means.
#[derive(Clone, Copy)]
enum Meaning {
    Op(Operator),
    Cast(Ty),
    Bits(Ty),
}

/// A function of the prelude and its operands.
struct Case {
    function: String,
    scalar: bool,
    meaning: Meaning,
    operands: Vec<Ty>,
    result: Ty,
    ulp: u64,
}

/// A small generator (splitmix64), so that failures repeat.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 * 2f64.powi(-53)
    }
}

/// Values that tend to break things.
fn edges(ty: Ty) -> Vec<Scalar> {
    if ty == Ty::Bool {
        return vec![Scalar::bool(false), Scalar::bool(true)];
    }
    if ty.is_int() {
        let (low, high) = slyz_sir::types::int_range(ty);
        let small = [0, 1, -1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 100, -100, low, low + 1, high, high - 1, high / 3];
        let large =
            [1 << 24, (1 << 24) + 1, (1 << 31) + (1 << 7) + 1, (1 << 40) + (1 << 32), (1 << 40) + (1 << 32) + 1];
        return small.into_iter().chain(large).chain([(1 << 53) + 1]).map(|x| Scalar::from_int(ty, x)).collect();
    }
    let small =
        [0.0, 5e-324, 1e-310, f64::MIN_POSITIVE, 1e-300, 1e-45, 1e-40, 1e-30, 1e-20, 2.9e-8, 6e-8, 6.1e-5, 1e-3];
    let near =
        [0.25, 0.4375, 0.49999997, 0.5, 0.625, 0.84375, 0.925, 1.0, 1.25, 1.5, 2.0, 2.4375, 2.5, 2.857, 3.0, 3.5];
    let above = [5.9, 6.0, 22.0, 87.4, 88.72284, 89.41599, 103.97208, 104.5, 127.0, 127.5, 128.0, 149.0, 150.0, 255.5];
    let far =
        [256.0, 709.78, 709.79, 710.475, 745.13, 745.2, 1023.0, 1024.0, 1074.0, 1075.0, 32767.5, 32768.0, 65519.0];
    let large = [65520.0, 65535.5, 65536.0, 1048577.0, 8388607.5, 16777215.0, 2147483520.0, 2147483648.0, 4294967040.0];
    let huge = [4294967296.0, 4503599627370495.5, 9007199254740993.0, 9.223372036854775e18, 9.223372036854776e18];
    let last = [1.844674407370955e19, 1.8446744073709552e19, 1e22, 1e30, 3e38, 1e300];
    let named = [consts::PI, consts::FRAC_PI_2, consts::FRAC_PI_4, consts::LN_2, f64::INFINITY, f64::NAN, f64::MAX];
    let single = [f32::MAX, f32::MIN_POSITIVE, 1.0 + f32::EPSILON, 1.0 - f32::EPSILON / 2.0].map(f64::from);
    let double = [1.0 + f64::EPSILON, 1.0 - f64::EPSILON / 2.0, 0.49999999999999994];
    let all = [&small[..], &near, &above, &far, &large, &huge, &last, &named, &single, &double].concat();
    all.into_iter().flat_map(|x| [x, -x]).map(|x| Scalar::from_f64(ty, x)).collect()
}

/// A random operand: any bits, or a number from where functions are interesting.
fn random(ty: Ty, k: usize, random: &mut Random) -> Scalar {
    let bits = random.bits();
    if !ty.is_float() {
        return Scalar::from_bits(ty, if k.is_multiple_of(3) { bits >> (bits & 63) } else { bits });
    }
    let value = match k % 8 {
        0..3 => return Scalar::from_bits(ty, bits),
        3 => random.between(-8.0, 8.0),
        4 => random.between(-110.0, 110.0),
        5 => random.between(-760.0, 760.0),
        6 => 1.0 + random.between(-0.5, 0.5) * 2f64.powi(-((bits & 31) as i32)),
        _ => random.between(-1.0, 1.0) * 2f64.powi((bits & 63) as i32 - 40),
    };
    Scalar::from_f64(ty, value)
}

/// A second operand that meets the first where it matters: near it in size, or a power that stays finite.
fn related(meaning: Meaning, a: Scalar, b: Scalar, rng: &mut Random) -> Scalar {
    let (x, y) = (a.as_f64(), b.as_f64());
    let range = if a.ty == Ty::F64 { 1100.0 } else { 155.0 };
    let value = match meaning {
        Meaning::Op(Operator::Pow) => rng.between(-range, range) / x.abs().log2(),
        Meaning::Op(Operator::Fma) => y,
        Meaning::Op(_) | Meaning::Cast(_) | Meaning::Bits(_) => {
            x * rng.between(-1.0, 1.0) * 2f64.powi(rng.between(-12.0, 12.0) as i32)
        }
    };
    Scalar::from_f64(a.ty, value)
}

/// The operands of a case: all combinations of edges, then random ones.
fn operands(case: &Case) -> Vec<Vec<Scalar>> {
    let mut rows = vec![Vec::new()];
    for (j, &ty) in case.operands.iter().enumerate() {
        // Three operands take every few edges, or there would be too many.
        let step = if case.operands.len() == 3 { 3 + 2 * j } else { 1 };
        let edges: Vec<Scalar> = edges(ty).into_iter().step_by(if ty == Ty::Bool { 1 } else { step }).collect();
        rows = rows.iter().flat_map(|row| edges.iter().map(|&x| [&row[..], &[x]].concat())).collect();
    }
    let heavy = case.ulp > 0 || matches!(case.meaning, Meaning::Op(Operator::Rem | Operator::Fma));
    let mut rng = Random(case.function.bytes().fold(1u64, |hash, byte| hash.wrapping_mul(31) ^ byte as u64));
    for k in 0..if heavy { 100_000 } else { 4_000 } {
        let mut row: Vec<Scalar> = case.operands.iter().map(|&ty| random(ty, k, &mut rng)).collect();
        if row.len() > 1 && row[0].ty == row[1].ty && row[0].ty.is_float() && rng.bits().is_multiple_of(2) {
            row[1] = related(case.meaning, row[0], row[1], &mut rng);
            if let (Meaning::Op(Operator::Fma), Some(&[a, b, _])) = (case.meaning, row.first_chunk()) {
                // Almost the opposite of the product, where every bit of it counts.
                row[2] = Scalar::from_f64(a.ty, -a.as_f64() * b.as_f64());
            }
        }
        rows.push(row);
    }
    rows
}

/// What the table says.
fn expected(case: &Case, row: &[Scalar]) -> Scalar {
    match case.meaning {
        Meaning::Op(operator) => operator.eval(row).expect("the case is well typed"),
        Meaning::Cast(to) => row[0].cast(to),
        Meaning::Bits(to) => Scalar::from_bits(to, row[0].bits),
    }
}

/// Distance in representable numbers; 0 for two NaN, and no slack between zeros of different sign.
fn distance(a: Scalar, b: Scalar) -> u64 {
    let nan = |x: Scalar| x.ty.is_float() && x.as_f64().is_nan();
    if a.bits == b.bits || (nan(a) && nan(b)) {
        return 0;
    }
    if !a.ty.is_float() || nan(a) || nan(b) || (a.as_f64() == 0.0 && b.as_f64() == 0.0) {
        return u64::MAX;
    }
    let sign = 1i128 << (a.ty.bits() - 1);
    let place = |x: Scalar| if x.bits as i128 >= sign { sign - x.bits as i128 } else { x.bits as i128 };
    (place(a) - place(b)).unsigned_abs() as u64
}

/// All functions on 64-bit lanes or on narrower ones, or their forms for scalars.
fn cases(wide: bool, scalar: bool) -> Vec<Case> {
    let names: BTreeSet<&str> = prelude::names().collect();
    let belongs = |types: &[Ty]| types.iter().any(|ty| ty.bytes() == 8) == wide;
    let mut cases = Vec::new();
    let mut add = |stem: String, meaning, operands: Vec<Ty>, result, ulp| {
        let function = if scalar { format!("s_{stem}") } else { stem };
        if names.contains(function.as_str()) {
            cases.push(Case { function, scalar, meaning, operands, result, ulp });
        }
    };
    for row in TABLE {
        // Half precision has no operators of its own: `round_f16` is rounding to f16.
        let half = |ty: &Ty| matches!(ty, Ty::F16 | Ty::BF16);
        for ty in Ty::ALL.into_iter().filter(|ty| row.domain.has(*ty) && !half(ty)) {
            let operands = match row.signature {
                Signature::Same | Signature::Test => vec![ty; row.arity],
                Signature::IntPower => vec![ty, Ty::I32],
                Signature::Select => vec![Ty::Bool, ty, ty],
            };
            if belongs(&operands) {
                let result = row.operator.result(&operands).expect("the table is well typed");
                let ulp = if ty.is_float() { row.ulp as u64 } else { 0 };
                add(format!("{}_{ty}", row.name), Meaning::Op(row.operator), operands, result, ulp);
            }
        }
    }
    for (a, b) in Ty::ALL.into_iter().flat_map(|a| Ty::ALL.map(|b| (a, b))).filter(|&(a, b)| belongs(&[a, b])) {
        add(format!("cast_{a}_{b}"), Meaning::Cast(b), vec![a], b, 0);
        add(format!("bits_{a}_{b}"), Meaning::Bits(b), vec![a], b, 0);
    }
    cases
}

/// The type of an element in memory.
fn element(ty: Ty) -> &'static str {
    if ty == Ty::Bool { "u8" } else { ty.name() }
}

/// C that runs every case: `case_K(operands, result, count)`.
fn source(cases: &[Case], wide: bool) -> String {
    let half = |ty: Ty| matches!(ty, Ty::F16 | Ty::BF16);
    let mut body = String::new();
    for (k, case) in cases.iter().enumerate() {
        let read = |(j, &ty): (usize, &Ty)| match case.scalar {
            true if half(ty) => format!("s_load_{ty}(x{j} + i)"),
            true => format!("x{j}[i]"),
            false => format!("load_{ty}(x{j} + i, n)"),
        };
        let arguments: Vec<String> = case.operands.iter().enumerate().map(read).collect();
        let call = format!("{}({})", case.function, arguments.join(", "));
        let write = match (case.scalar, case.result) {
            (true, ty) if half(ty) => format!("s_store_{ty}(y + i, {call})"),
            (true, ty) => format!("y[i] = ({}){call}", element(ty)),
            (false, ty) => format!("store_{ty}(y + i, {call}, n)"),
        };
        let header = format!("void case_{k}(void *const *in, void *out, i64 count)");
        body += &format!("{header};\n{header} {{\n    {} *y = out;\n", element(case.result));
        for (j, &ty) in case.operands.iter().enumerate() {
            body += &format!("    const {} *x{j} = in[{j}];\n", element(ty));
        }
        body += if case.scalar {
            "    for (i64 i = 0; i < count; i++) {\n"
        } else {
            "    for (i64 i = 0; i < count; i += W) {\n        int n = count - i < W ? (int)(count - i) : W;\n"
        };
        body += &format!("        {write};\n    }}\n}}\n\n");
    }
    with_prelude(&body, wide)
}

/// The body after what it needs of the prelude.
fn with_prelude(body: &str, wide: bool) -> String {
    let used = body.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(String::from).collect();
    prelude::emit(&used, wide) + "\n" + body
}

/// A program that reads the operands of all cases from a file and writes their results to another.
fn driver(cases: usize) -> String {
    let run = "typedef void run(void *const *in, void *out, long count);\n";
    let mut text = format!("#include <stdio.h>\n#include <stdlib.h>\n{run}");
    (0..cases).for_each(|k| text += &format!("run case_{k};\n"));
    text += "static run *const CASES[] = {\n";
    (0..cases).for_each(|k| text += &format!("    case_{k},\n"));
    text + r#"};

int main(int argc, char **argv) {
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : 0, *out = argc == 3 ? fopen(argv[2], "wb") : 0;
    long head[5];
    if (!in || !out) return 2;
    for (unsigned k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        if (fread(head, sizeof *head, 5, in) != 5) return 3;
        void *x[3], *y = malloc(head[0] * head[1]);
        for (int j = 0; j < 3; j++) {
            unsigned long bytes = head[0] * head[2 + j];
            x[j] = malloc(bytes + 1);
            if (fread(x[j], 1, bytes, in) != bytes) return 4;
        }
        CASES[k](x, y, head[0]);
        fwrite(y, head[1], head[0], out);
        for (int j = 0; j < 3; j++) free(x[j]);
        free(y);
    }
    return fclose(out);
}
"#
}

fn cc(folder: &Path, arguments: &[&str]) {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let output = Command::new(&compiler).args(arguments).current_dir(folder).stdin(Stdio::null()).output();
    let output =
        output.unwrap_or_else(|error| panic!("these tests need a C compiler: cannot run `{compiler}`: {error}"));
    let said: String = String::from_utf8_lossy(&output.stderr).chars().take(4000).collect();
    assert!(output.status.success(), "{compiler} {}: {said}", arguments.join(" "));
}

/// Builds `cases.c` as a kernel library for a machine.
fn build(folder: &Path, machine: &str, source: &str) {
    std::fs::write(folder.join("cases.c"), source).expect("the folder is writable");
    let march = format!("-march={machine}");
    let flags: Vec<&str> = FLAGS.split_whitespace().chain([march.as_str(), "cases.c", "-o", "libcases.so"]).collect();
    cc(folder, &flags);
}

/// A folder under the build directory.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prelude").join(name);
    std::fs::create_dir_all(&folder).expect("the build directory is writable");
    folder
}

/// Cases with their operands, and these as the driver reads them.
struct Suite {
    name: &'static str,
    wide: bool,
    cases: Vec<Case>,
    rows: Vec<Vec<Vec<Scalar>>>,
    input: Vec<u8>,
}

impl Suite {
    fn new(name: &'static str, wide: bool, cases: Vec<Case>) -> Suite {
        let rows: Vec<Vec<Vec<Scalar>>> = cases.iter().map(operands).collect();
        let mut input = Vec::new();
        for (case, rows) in cases.iter().zip(&rows) {
            let width = |j: usize| case.operands.get(j).map_or(0, |ty| ty.bytes());
            let head = [rows.len(), case.result.bytes(), width(0), width(1), width(2)];
            head.iter().for_each(|&x| input.extend_from_slice(&(x as u64).to_le_bytes()));
            for j in 0..case.operands.len() {
                rows.iter().for_each(|row| input.extend_from_slice(&row[j].bits.to_le_bytes()[..width(j)]));
            }
        }
        Suite { name, wide, cases, rows, input }
    }

    /// Builds the cases for a machine and runs them.
    fn run(&self, machine: &str) -> Vec<Scalar> {
        let folder = folder(&format!("{}-{machine}", self.name));
        build(&folder, machine, &source(&self.cases, self.wide));
        std::fs::write(folder.join("driver.c"), driver(self.cases.len())).expect("the folder is writable");
        cc(&folder, &["-O1", "driver.c", "libcases.so", "-Wl,-rpath,$ORIGIN", "-o", "driver"]);
        std::fs::write(folder.join("input"), &self.input).expect("the folder is writable");
        let status = Command::new(folder.join("driver")).args(["input", "output"]).current_dir(&folder).status();
        assert!(status.expect("the driver starts").success(), "the driver for {machine} failed");
        let output = std::fs::read(folder.join("output")).expect("the driver wrote its results");
        let mut rest = &output[..];
        let mut next = |ty: Ty| {
            let (head, tail) = rest.split_at(ty.bytes());
            rest = tail;
            Scalar { ty, bits: head.iter().rev().fold(0, |bits, &byte| bits << 8 | byte as u64) }
        };
        self.cases
            .iter()
            .zip(&self.rows)
            .flat_map(|(case, rows)| vec![case.result; rows.len()])
            .map(&mut next)
            .collect()
    }

    /// Compares results with what is expected of them.
    fn check(&self, what: &str, results: &[Scalar], slack: bool, expected: impl Fn(usize, &Case, &[Scalar]) -> Scalar) {
        let (mut at, mut failures) = (0, Vec::new());
        for (case, rows) in self.cases.iter().zip(&self.rows) {
            let (mut bad, mut worst, mut example) = (0, 0, String::new());
            // The one function that starts from an estimate of the machine's own.
            let estimated = case.function == "rsqrt_f32";
            let allowed = if slack || estimated { case.ulp } else { 0 };
            for row in rows {
                let (got, want) = (results[at], expected(at, case, row));
                let of_floor = match case.meaning {
                    Meaning::Op(operator) if slack => operator.row().units_of_floor(want, got),
                    Meaning::Op(_) | Meaning::Cast(_) | Meaning::Bits(_) => None,
                };
                let off = of_floor.unwrap_or_else(|| distance(got, want));
                at += 1;
                bad += (off > allowed) as usize;
                if off > worst {
                    worst = off;
                    example = format!("{row:?} gives {got:?} and not {want:?}");
                }
            }
            if bad > 0 {
                failures.push(format!(
                    "{}: {bad} of {} off, by up to {worst} ulp: {example}",
                    case.function,
                    rows.len()
                ));
            }
            println!("{what}: {} is off by {worst} of {allowed} ulp", case.function);
        }
        assert!(failures.is_empty(), "{what}:\n{}", failures.join("\n"));
    }
}

/// Does the processor of this machine run code for Haswell?
fn runs_haswell() -> bool {
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    ["avx2", "fma", "bmi2", "movbe"].iter().all(|name| flags.split_whitespace().any(|flag| flag == *name))
}

/// Every machine against the table; those with a fused multiply-add give the same bits, but for `rsqrt` on `f32`.
fn all_machines_agree(suite: &Suite) {
    std::thread::scope(|scope| {
        let fewer = runs_haswell().then(|| scope.spawn(|| suite.run("haswell")));
        let oldest = cfg!(target_arch = "x86_64").then(|| scope.spawn(|| suite.run("x86-64")));
        let here = suite.run("native");
        suite.check("this machine", &here, true, |_, case, row| expected(case, row));
        if let Some(results) = fewer.map(|thread| thread.join().expect("Haswell runs")) {
            suite.check("Haswell against this machine", &results, false, |at, _, _| here[at]);
        }
        if let Some(results) = oldest.map(|thread| thread.join().expect("x86-64 runs")) {
            suite.check("x86-64", &results, true, |_, case, row| expected(case, row));
        }
    });
}

#[test]
fn lanes_of_32_bits_agree_with_the_table() {
    all_machines_agree(&Suite::new("lanes-32", false, cases(false, false)));
}

#[test]
fn lanes_of_64_bits_agree_with_the_table() {
    all_machines_agree(&Suite::new("lanes-64", true, cases(true, false)));
}

#[test]
fn scalars_agree_with_the_table() {
    for wide in [false, true] {
        let suite = Suite::new(if wide { "scalars-64" } else { "scalars-32" }, wide, cases(wide, true));
        suite.check("scalars", &suite.run("native"), true, |_, case, row| expected(case, row));
    }
}

/// C that moves elements of one type in every way, by any number of lanes, next to a page that must not be touched. `end` is where it begins.
/// Zeros are written through `volatile`, lest the compiler call `memset`.
fn memory_source(ty: Ty, wide: bool) -> String {
    let lanes = match ty {
        Ty::I8 | Ty::I16 | Ty::Bool => Ty::I32,
        Ty::U8 | Ty::U16 => Ty::U32,
        Ty::F16 | Ty::BF16 => Ty::F32,
        Ty::I32 | Ty::I64 | Ty::U32 | Ty::U64 | Ty::F32 | Ty::F64 => ty,
    };
    let half = matches!(ty, Ty::F16 | Ty::BF16);
    let put = if half { "s_store_TY(p + i, VALUE)" } else { "p[i] = (ELEMENT)(VALUE)" };
    let get = if half { "s_load_TY(p + i)" } else { "(f64)p[i]" };
    let value = if ty == Ty::Bool { "((i + 1) & 1)" } else { "(i + 1)" };
    let lane = if ty == Ty::Bool { "-VALUE" } else { "VALUE" };
    let gather = "v = gather_TY_wide(p, __builtin_convertvector(far, vi64), m);
    for (int i = 0; i < W; i++) EXPECT(lane_L(v, i) == (m[i] ? LANE : 0));
    for (int i = 0; i < W; i++) *(volatile ELEMENT *)(p + i) = 0;
    scatter_TY_wide(p, iota_i64(), v, m);
    for (int i = 0; i < W; i++) EXPECT(GET == (i & 1 ? VALUE : 0));";
    let text = r#"
#undef EXPECT
#define EXPECT(condition) do { if (!(condition)) return __LINE__; } while (0)
int test_TY(char *end);
int test_TY(char *end) {
    for (int given = -3 * W; given <= 3 * W; given++) {
        int n = given < 0 ? 0 : given > W ? W : given;
        ELEMENT *p = (ELEMENT *)end - n;
        vi32 odd = (iota_i32() & 1) != 0, some = first_lanes(n) & odd;
        for (int i = 0; i < n; i++) PUT;
        vL v = load_TY(p, given), w = load_masked_TY(p, some);
        for (int i = 0; i < W; i++) {
            EXPECT(lane_L(v, i) == (i < n ? LANE : 0));
            EXPECT(lane_L(w, i) == (i < n && i % 2 ? LANE : 0));
        }
        for (int i = -1; i < n; i++) *(volatile ELEMENT *)(p + i) = 0;
        store_masked_TY(p, v, some);
        for (int i = -1; i < n; i++) EXPECT(GET == (i % 2 == 1 ? VALUE : 0));
        store_TY(p, v, given);
        for (int i = 0; i < n; i++) EXPECT(GET == VALUE);
        EXPECT(p[-1] == 0);
        for (int u = 0; u < 4; u++) EXPECT(all(first_lanes(lanes_left(given, u)) == first_lanes(given - u * W)));
        for (int u = 1; u < 4; u++) {
            store_TY(p + n, v, lanes_left(n, u));
            vL none = load_TY(p + n, lanes_left(n, u));
            for (int i = 0; i < W; i++) EXPECT(lane_L(none, i) == 0);
        }
        for (int at = -3; n > 0 && at < n + 3; at++) {
            vL near = load_clamped_TY(p, at, 0, n - 1, given, 0);
            if (at >= 0 && at + (given < W ? given : W) <= n) near = load_clamped_TY(p, at, 0, n - 1, given, 1);
            for (int i = 0; i < W; i++) {
                int from = at + i < 0 ? 0 : at + i < n ? at + i : n - 1;
                EXPECT(lane_L(near, i) == (i < given ? lane_L(v, from) : 0));
            }
        }
        EXPECT(any(some) == (n > 1) && all(first_lanes(given)) == (n == W) && all(some | ~odd) == (n >= W));
    }
    ELEMENT *p = (ELEMENT *)end - W;
    for (int i = 0; i < W; i++) PUT;
    vi32 m = (iota_i32() & 1) != 0, far = (m & (W - iota_i32())) | (~m & 0x10000000);
    vL v = gather_TY(p, far, m);
    for (int i = 0; i < W; i++) EXPECT(lane_L(v, i) == (m[i] ? lane_L(load_TY(p, W), W - i) : 0));
    v = load_TY(p, W);
    scatter_TY(p, iota_i32() >> 1, v, ~(vi32){0});
    for (int k = 0; k < W / 2; k++) {
        int i = 2 * k + 1, want = VALUE;
        i = k;
        EXPECT(GET == want);
    }
    for (int i = 0; i < W; i++) PUT;
    m = (iota_i32() & 1) != 0;
    far = (m & iota_i32()) | (~m & 0x10000000);
    WIDE
    return 0;
}
"#;
    let text = text.replace("WIDE", if wide { gather } else { "(void)far;" }).replace("PUT", put).replace("GET", get);
    let text = text.replace("LANE", lane).replace("VALUE", value).replace("ELEMENT", element(ty));
    let text = text.replace("lane_L", &format!("(f64)lane_{lanes}")).replace("vL", &format!("v{lanes}"));
    text.replace("TY", ty.name())
}

#[test]
fn memory_is_moved_in_full_and_never_touched_past_the_end() {
    for (machine, wide) in [("native", false), ("native", true), ("haswell", true), ("x86-64", false)] {
        if machine == "haswell" && !runs_haswell() {
            continue;
        }
        let types: Vec<Ty> = Ty::ALL.into_iter().filter(|ty| wide || ty.bytes() < 8).collect();
        let folder = folder(&format!("memory-{machine}{}", if wide { "-64" } else { "" }));
        let body: String = types.iter().map(|&ty| memory_source(ty, wide)).collect();
        build(&folder, machine, &with_prelude(&body, wide));
        let mut main = String::from("#include <stdio.h>\n#include <sys/mman.h>\n");
        types.iter().for_each(|ty| main += &format!("int test_{ty}(char *end);\n"));
        main += "int main(void) {\n    int flags = MAP_PRIVATE | MAP_ANONYMOUS, line = 0;\n";
        main += "    char *page = mmap(0, 131072, PROT_READ | PROT_WRITE, flags, -1, 0), *end = page + 65536;\n";
        main += "    if (page == MAP_FAILED || mprotect(end, 65536, PROT_NONE)) return 2;\n";
        for ty in &types {
            main +=
                &format!("    if ((line = test_{ty}(end))) return printf(\"{ty}: line %d of cases.c\\n\", line), 1;\n");
        }
        main += "    return 0;\n}\n";
        std::fs::write(folder.join("main.c"), main).expect("the folder is writable");
        cc(&folder, &["-O1", "main.c", "libcases.so", "-Wl,-rpath,$ORIGIN", "-o", "driver"]);
        let output = Command::new(folder.join("driver")).output().expect("the driver starts");
        assert!(output.status.success(), "{machine}: {:?} {}", output.status, String::from_utf8_lossy(&output.stdout));
    }
}
