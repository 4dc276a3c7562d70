//! `slyz tune`: a run whose plans are chosen by the clock, and what was chosen.

use crate::run::Run;
use slyz_run::tune::{self, Decision};
use std::io::{self, Write};

#[derive(clap::Args)]
pub struct Tune {
    #[command(flatten)]
    run: Run,
}

impl Tune {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        // What the program prints is not asked for.
        tune::tuned(|| self.run.run(&mut io::sink()))?;
        let decisions = tune::decisions();
        if decisions.is_empty() {
            writeln!(out, "nothing to choose: no program ran on a device that has plans")?;
        }
        decisions.iter().try_for_each(|decision| print(decision, out))?;
        Ok(())
    }
}

fn print(decision: &Decision, out: &mut dyn Write) -> io::Result<()> {
    let Decision { program, device, sizes, tried, chosen, .. } = decision;
    let sizes: Vec<String> = sizes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let sizes = if sizes.is_empty() { String::new() } else { format!(", {}", sizes.join(", ")) };
    writeln!(out, "{program} on {device}{sizes}: {chosen}")?;
    if tried.is_empty() {
        writeln!(out, "  found among earlier decisions")?;
    }
    for (choice, seconds) in tried {
        let mark = if choice == chosen { "*" } else { " " };
        writeln!(out, "  {mark} {:>10.3} ms  {choice}", seconds * 1e3)?;
    }
    Ok(())
}
