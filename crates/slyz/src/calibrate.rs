//! Functions over smaller numbers: measured on examples, and held to a bound.

use crate::compile::Compiled;
use crate::error::Error;
use crate::quantize::{Quantize, compile_smaller};
use crate::weights::{Parts, parameters};
use slyz_run::{Argument, Executable, Output};
use slyz_sir::kernel::Plan;
use slyz_sir::program::Program;
use slyz_sir::quantize::{Candidate, Known, Request, Why, errors, measured, quantize, ranges};
use slyz_sir::types::Scalar;
use std::sync::{Arc, Mutex, PoisonError};

impl<Sig> Compiled<Sig> {
    /// The function over smaller numbers. `examples` calls it with data as it will be: once as it is, to see what results are and how large
    /// numbers get, and then as often as it takes to hold the bound. [`Compiled::explain`] tells what stayed `f32`, and why. A bound that
    /// cannot be held is an error, and so are examples that never call it. Calls with views run as before, in `f32`.
    ///
    /// It also tells what is proven: how far off results are at most for any numbers between the least and the greatest of each argument in
    /// the examples ([`Quantize::range`] says others). What cannot be followed is only measured.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// use slyz::Quantize;
    /// axis!(N, K, M);
    /// let f = compile(|x: Arr<f32, (N, K)>, w: Arr<f32, (K, M)>| x.matmul(w))?;
    /// let x = Tensor::<f32, (N, K)>::from_vec([4, 64], (0..256).map(|k| (k % 13) as f32 - 6.0).collect())?;
    /// let w = Tensor::<f32, (K, M)>::from_vec([64, 3], (0..192).map(|k| (k % 11) as f32 - 5.0).collect())?;
    /// let small = f.quantize(&Quantize::i8().within(0.02), |f| f.call(&x, &w))?;
    /// let (exact, near) = (f.call(&x, &w)?.to_vec()?, small.call(&x, &w)?.to_vec()?);
    /// let largest = exact.iter().fold(0f32, |m, v| m.max(v.abs()));
    /// assert!(exact.iter().zip(&near).all(|(a, b)| (a - b).abs() <= 0.02 * largest));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn quantize<R>(
        &self,
        how: &Quantize,
        examples: impl Fn(&Compiled<Sig>) -> Result<R, Error>,
    ) -> Result<Compiled<Sig>, Error> {
        let mut request = how.request(self.slots())?;
        let record = |code: Arc<dyn Executable>, ranges: Option<Arc<dyn Executable>>| {
            let first = measured(self.program()).len();
            let recorder = Arc::new(Recorder { code, ranges, measured: first, seen: Mutex::default() });
            examples(&self.with_code(recorder.clone(), None))?;
            let seen = std::mem::take(&mut *recorder.seen.lock().unwrap_or_else(PoisonError::into_inner));
            Ok::<Seen, Error>(seen)
        };
        let ranges = ranges(self.program(), &request);
        let ranges = ranges.map(|program| self.compile_more(&program)).transpose()?;
        let reference = record(self.code(), ranges)?;
        if reference.outputs.is_empty() {
            return Err(Error::NoExamples);
        }
        for (number, &found) in reference.largest.iter().enumerate() {
            if let Some(most) = request.small.largest().filter(|&most| found.is_nan() || found > most) {
                let why = format!("it holds numbers up to {found}, and {} ends at {most}", request.small);
                request.without.push((number, why));
            }
        }
        let known = self.known(how, &reference)?;
        let Some(bound) = how.bound else {
            let (code, smaller) = self.smaller(&request)?;
            let told = self.proven(&request, &known, &reference, None, smaller);
            return Ok(self.with_code(code, Some(told)));
        };
        let error = |request: &Request| {
            let (code, smaller) = self.smaller(request)?;
            let seen = record(code.clone(), None)?;
            Ok::<_, Error>((code, smaller, off(&reference.outputs, &seen.outputs)?))
        };
        let mut alone: Option<Vec<(usize, f64)>> = None;
        loop {
            let (code, smaller, (found, result)) = error(&request)?;
            if found <= bound {
                let told = self.proven(&request, &known, &reference, Some((found, bound)), smaller);
                return Ok(self.with_code(code, Some(told)));
            }
            let candidates = self.candidates(&request);
            let active: Vec<usize> = (0..candidates.len()).filter(|&k| candidates[k].left.is_none()).collect();
            if alone.is_none() {
                let mut each = vec![];
                for &number in &active {
                    let others = active.iter().filter(|&&k| k != number).map(|&k| (k, String::new()));
                    let without = request.without.iter().cloned().chain(others).collect();
                    each.push((number, error(&Request { without, ..request.clone() })?.2.0));
                }
                each.sort_by(|a, b| a.1.total_cmp(&b.1));
                alone = Some(each);
            }
            match alone.as_mut().and_then(Vec::pop) {
                Some((worst, by)) if active.len() > 1 => {
                    request.without.push((worst, format!("alone it makes results {} off", percent(by))));
                }
                _ => {
                    let small = request.small.to_string();
                    return Err(Error::Quantize { result: result + 1, small, found, bound });
                }
            }
        }
    }

    /// The function over smaller numbers, with nothing measured: no bound is held, and [`Quantize::within`] means nothing.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// use slyz::Quantize;
    /// axis!(N, K);
    /// let f = compile(|w: Arr<f32, (N, K)>, x: Arr<f32, K>| {
    ///     tabulate(|i: Idx<N>| sum(|k: Idx<K>| w.at((i, k)) * x.at(k)))
    /// })?;
    /// let small = f.quantized(&Quantize::f16().weights([1]))?;
    /// assert_eq!(small.call(&[[1.0f32, 0.5], [2.0, 0.25]], &[2.0f32, 4.0])?.to_vec()?, [4.0, 5.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn quantized(&self, how: &Quantize) -> Result<Compiled<Sig>, Error> {
        let (code, smaller) = self.smaller(&how.request(self.slots())?)?;
        Ok(self.with_code(code, Some(smaller)))
    }

    fn candidates(&self, request: &Request) -> Vec<Candidate> {
        quantize(self.program(), request).candidates
    }

    fn smaller(&self, request: &Request) -> Result<(Arc<dyn Executable>, Parts), Error> {
        compile_smaller(&**self.device_used(), self.program(), request)
    }

    /// What is known of calls like those of the examples.
    fn known(&self, how: &Quantize, reference: &Seen) -> Result<Known, Error> {
        let mut arguments = vec![(f64::NEG_INFINITY, f64::INFINITY); self.program().body.params.len()];
        for (argument, &(low, high)) in measured(self.program()).into_iter().zip(&reference.ends) {
            arguments[argument] = (low.into(), high.into());
        }
        for &(argument, low, high) in &how.ranges {
            for place in parameters(self.slots(), &[argument])? {
                arguments[place] = (low, high);
            }
        }
        Ok(Known { sizes: reference.sizes.clone(), arguments })
    }

    /// `smaller`, and what is proven of each candidate and of all together. `found` is what was measured, and the bound.
    fn proven(
        &self,
        request: &Request,
        known: &Known,
        reference: &Seen,
        found: Option<(f64, f64)>,
        mut smaller: Parts,
    ) -> Parts {
        let largest = reference.least_largest();
        let part = |request: &Request| {
            let errors = errors(self.program(), request, known);
            let parts = errors.into_iter().zip(&largest).map(|(off, most)| Ok(off? / most));
            parts.collect::<Result<Vec<f64>, Why>>().map(|parts| parts.into_iter().fold(0.0, f64::max))
        };
        let candidates = self.candidates(request);
        let active: Vec<usize> = (0..candidates.len()).filter(|&k| candidates[k].left.is_none()).collect();
        for &number in &active {
            let others = active.iter().filter(|&&k| k != number).map(|&k| (k, String::new()));
            let without = request.without.iter().cloned().chain(others).collect();
            let note = match part(&Request { without, ..request.clone() }) {
                Ok(part) => format!("proven: alone it makes results at most {} off", percent(part)),
                Err(why) => format!("not proven, only measured: {why}"),
            };
            smaller.told[number] += &format!("; {note}");
        }
        if active.is_empty() {
            return smaller;
        }
        let all = part(request);
        let examples = found.map(|(found, _)| format!("results are {} off in the examples", percent(found)));
        let proven = match (&all, found) {
            (Err(why), _) => format!("no bound is proven: {why}"),
            (Ok(part), None) => format!("at most {} off is proven for numbers in their ranges", percent(*part)),
            (Ok(part), Some((_, bound))) => {
                let held = if *part <= bound { "within" } else { "more than" };
                format!(
                    "at most {} off is proven for numbers in their ranges, {held} {}",
                    percent(*part),
                    percent(bound)
                )
            }
        };
        let told: Vec<String> = examples.into_iter().chain([proven]).collect();
        smaller.told.push(format!("together: {}", told.join("; ")));
        smaller
    }

    #[allow(unsafe_code)]
    fn compile_more(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        // SAFETY: it reads what the traced program reads, and all of arrays that it makes.
        Ok(unsafe { self.device_used().compile_trusted(program) }?)
    }
}

/// A part as people say it.
fn percent(part: f64) -> String {
    format!("{:.2} %", 100.0 * part)
}

/// What calls gave.
#[derive(Default)]
struct Seen {
    outputs: Vec<Vec<Output>>,
    /// The sizes of calls, each once.
    sizes: Vec<Vec<Option<u64>>>,
    /// The least and the greatest number of each measured argument.
    ends: Vec<(f32, f32)>,
    /// How large each candidate got.
    largest: Vec<f32>,
}

impl Seen {
    /// The largest size in each result, in the call where that is least; what bounds are parts of.
    fn least_largest(&self) -> Vec<f64> {
        let mut least: Vec<f64> = vec![];
        for outputs in &self.outputs {
            least.resize(outputs.len(), f64::INFINITY);
            for (least, output) in least.iter_mut().zip(outputs) {
                let finite = numbers(output).into_iter().flatten().filter(|x| x.is_finite());
                let largest = finite.fold(0.0, |most: f64, x| most.max(x.abs()));
                *least = least.min(if largest > 0.0 { largest } else { 1.0 });
            }
        }
        least
    }
}

/// Runs what it is told, and keeps the results.
struct Recorder {
    code: Arc<dyn Executable>,
    ranges: Option<Arc<dyn Executable>>,
    /// How many arguments have their ends told first.
    measured: usize,
    seen: Mutex<Seen>,
}

impl Executable for Recorder {
    fn run(&self, sizes: &[Option<u64>], args: &[Argument<'_>]) -> Result<Vec<Output>, slyz_run::Error> {
        let outputs = self.code.run(sizes, args)?;
        let mut told = vec![];
        for output in self.ranges.iter().map(|ranges| ranges.run(sizes, args)).collect::<Result<Vec<_>, _>>()?.concat()
        {
            told.extend(bytemuck::pod_collect_to_vec::<u8, f32>(output.data.bytes()?));
        }
        let largest = told.split_off(told.len().min(2 * self.measured));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.outputs.push(outputs.clone());
        if !seen.sizes.iter().any(|known| known == sizes) {
            seen.sizes.push(sizes.to_vec());
        }
        seen.ends.resize(told.len() / 2, (f32::INFINITY, f32::NEG_INFINITY));
        for (ends, found) in seen.ends.iter_mut().zip(told.chunks_exact(2)) {
            *ends = (ends.0.min(found[0]), ends.1.max(found[1]));
        }
        let many = largest.len().max(seen.largest.len());
        seen.largest.resize(many, 0.0);
        // A NaN stays.
        for (most, found) in seen.largest.iter_mut().zip(largest) {
            *most = if found.is_nan() || found > *most { found } else { *most };
        }
        Ok(outputs)
    }

    fn source(&self) -> &str {
        self.code.source()
    }

    fn plan(&self) -> Option<&Plan> {
        self.code.plan()
    }

    fn device(&self) -> &str {
        self.code.device()
    }
}

/// How far results are off, as a part of the largest number of each, and which one is most.
fn off(reference: &[Vec<Output>], found: &[Vec<Output>]) -> Result<(f64, usize), Error> {
    let mut most = (0.0, 0);
    for (reference, found) in reference.iter().zip(found) {
        for (number, (reference, found)) in reference.iter().zip(found).enumerate() {
            let (mut largest, mut difference) = (0f64, 0f64);
            for (x, y) in numbers(reference)?.zip(numbers(found)?) {
                if x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan() {
                    largest = if x.is_finite() { largest.max(x.abs()) } else { largest };
                    continue;
                }
                largest = largest.max(x.abs());
                let apart = (x - y).abs();
                difference = if apart.is_nan() { f64::INFINITY } else { difference.max(apart) };
            }
            let part = if difference == 0.0 { 0.0 } else { difference / if largest > 0.0 { largest } else { 1.0 } };
            let part = if part.is_nan() { f64::INFINITY } else { part };
            if part > most.0 {
                most = (part, number);
            }
        }
    }
    Ok(most)
}

/// The elements of a result as numbers.
fn numbers(output: &Output) -> Result<impl Iterator<Item = f64>, Error> {
    let ty = output.ty;
    let element = move |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let scalar = Scalar::from_bits(ty, u64::from_le_bytes(word));
        if ty.is_float() { scalar.as_f64() } else { scalar.as_int() as f64 }
    };
    Ok(output.data.bytes()?.chunks_exact(ty.bytes()).map(element))
}
