//! Tells what a function became, for people. The telling itself is `slyz-sir`'s.

use crate::error::place;
use crate::trace::Slot;
use slyz_run::{BuildTime, Executable};
use slyz_sir::choices::Precision;
use slyz_sir::explain::{explain, explain_on};
use slyz_sir::meaning;
use slyz_sir::program::Program;
use slyz_sir::road::{ProgramRoad, Strategy};
use std::fmt;

/// What a compiled function became: launches, fused and kept arrays, bytes, flops, temporaries.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|x: Arr<f32, N>| (x * x).sum())?;
/// let explanation = f.clone().size::<N>(1 << 20).explain();
/// println!("{explanation}");
/// assert!(explanation.to_string().contains("N × (add, mul)"));
/// assert!(explanation.svg().starts_with("<svg"));
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Explanation {
    device: String,
    /// The device runs the program itself; the launches are those a CPU would run.
    imagined: bool,
    /// Where a call would run and why, where the device chooses.
    choice: Option<String>,
    /// How precise its floats are.
    precision: Precision,
    /// How long it took to get there, where the device knows.
    built: Option<BuildTime>,
    /// The fields among the parameters, and the argument of the program that each is.
    fields: Vec<String>,
    /// What became of what could be made of smaller numbers.
    told: Vec<String>,
    inner: slyz_sir::explain::Explanation,
}

impl Explanation {
    pub(crate) fn new(program: &Program, slots: &[Slot], code: &dyn Executable, sizes: &[Option<u64>]) -> Explanation {
        let road = ProgramRoad::to(Strategy::Cores);
        let (imagined, inner) = match code.plan() {
            Some(plan) => {
                let program = meaning::planned(program, plan);
                (false, explain(&program, &road.optimize(&program), plan))
            }
            None => (true, explain_on(program, &road)),
        };
        let inner = inner.at(sizes);
        let device = code.device().to_string();
        let choice = code.choice(sizes);
        let built = code.build_time();
        let precision = code.precision();
        Explanation { device, precision, imagined, choice, built, fields: fields(slots), told: vec![], inner }
    }

    pub(crate) fn with_told(self, told: &[String]) -> Explanation {
        Explanation { told: told.to_vec(), ..self }
    }

    /// A picture: arguments above, launches and temporaries between, results below, bytes on the arrows. It is a whole
    /// SVG file, and follows the light or dark theme of whoever shows it.
    pub fn svg(&self) -> String {
        self.inner.svg()
    }

    /// How long it took to compile: passes, source code, C compiler or disk cache. The first call in wide arrays compiles once
    /// more, which is not counted.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let explanation = compile(|x: Arr<f32, N>| x * 2.0)?.explain();
    /// if let Some(built) = explanation.build_time() {
    ///     println!("{built}"); // built in 96.1 ms: passes 0.3 ms, C text 0.2 ms, C compiler 95.6 ms
    /// }
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn build_time(&self) -> Option<BuildTime> {
        self.built
    }

    /// The numbers behind the text: steps, operators, bytes.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let explanation = compile(|x: Arr<f32, N>| (x * x).sum())?.explain();
    /// println!("{:?}", explanation.details());
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn details(&self) -> &slyz_sir::explain::Explanation {
        &self.inner
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.imagined {
            writeln!(f, "on {}, which runs the program as it is; this is what a CPU would run", self.device)?;
        } else {
            writeln!(f, "on {}", self.device)?;
        }
        if self.precision != Precision::Exact {
            writeln!(f, "precision {}", self.precision)?;
        }
        if let Some(choice) = &self.choice {
            writeln!(f, "{choice}; the launches are those of the CPU")?;
        }
        if let Some(built) = &self.built {
            writeln!(f, "{built}")?;
        }
        self.told.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        self.inner.fmt(f)?;
        if !self.fields.is_empty() {
            writeln!(f, "\nfields of arguments, as the program has them")?;
        }
        self.fields.iter().try_for_each(|field| writeln!(f, "  {field}"))
    }
}

/// `%2  field first.w of argument 1: f32[N, M]` for each slot that is not a whole argument.
fn fields(slots: &[Slot]) -> Vec<String> {
    let mut lines = vec![];
    let mut first = 0;
    for slot in slots {
        let kinds: Vec<&str> = slot.leaves.iter().map(|leaf| leaf.ty.name()).collect();
        if !slot.field.is_empty() {
            let shape = if slot.names.is_empty() { String::new() } else { format!("[{}]", slot.names.join(", ")) };
            lines.push(format!("%{first}  {}: {}{shape}", place(slot.argument, &slot.field), kinds.join(" and ")));
        }
        first += slot.leaves.len();
    }
    lines
}
