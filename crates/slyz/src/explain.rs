//! Tells what a function became, for people. The telling itself is `slyz-sir`'s.

use slyz_run::Executable;
use slyz_sir::graph::Graph;
use slyz_sir::kernel::Plan;
use slyz_sir::{lower, pass};
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
    /// The device runs the graph itself; the launches are those a CPU would run.
    imagined: bool,
    /// Where a call would run and why, where the device chooses.
    choice: Option<String>,
    inner: slyz_sir::explain::Explanation,
}

impl Explanation {
    pub(crate) fn new(graph: &Graph, code: &dyn Executable, sizes: &[Option<u64>]) -> Explanation {
        let optimised = pass::optimize(graph);
        let explain = |plan: &Plan| slyz_sir::explain::explain(graph, &optimised, plan).at(sizes);
        let (imagined, inner) = match code.plan() {
            Some(plan) => (false, explain(plan)),
            None => (true, explain(&lower::cpu::lower(&optimised))),
        };
        Explanation { device: code.device().to_string(), imagined, choice: code.choice(sizes), inner }
    }

    /// A picture: arguments above, launches and temporaries between, results below, bytes on the arrows. It is a whole
    /// SVG file, and follows the light or dark theme of whoever shows it.
    pub fn svg(&self) -> String {
        self.inner.svg()
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
            writeln!(f, "on {}, which runs the graph as it is; this is what a CPU would run", self.device)?;
        } else {
            writeln!(f, "on {}", self.device)?;
        }
        if let Some(choice) = &self.choice {
            writeln!(f, "{choice}; the launches are those of the CPU")?;
        }
        self.inner.fmt(f)
    }
}
