//! What a command line says about passes: which run, and behind which one code is printed.

use crate::usage;
use slyz_sir::pass::means;
use slyz_sir::road::{RoadError, Selection};

/// The passes that run.
#[derive(clap::Args)]
pub struct Passes {
    /// Of the passes that can be left out run only these, with commas between them; `--only ""` runs none.
    #[arg(long, value_name = "PASS", value_delimiter = ',', conflicts_with = "without")]
    only: Option<Vec<String>>,
    /// Leave passes out, with commas between them.
    #[arg(long, value_name = "PASS", value_delimiter = ',')]
    without: Vec<String>,
}

impl Passes {
    pub fn selection(&self) -> Selection {
        match &self.only {
            Some(names) => Selection::Only(names.iter().filter(|name| !name.is_empty()).cloned().collect()),
            None if self.without.is_empty() => Selection::All,
            None => Selection::Without(self.without.clone()),
        }
    }
}

/// A time that a pass runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    pub pass: String,
    /// Counted from 1.
    pub time: usize,
}

impl std::str::FromStr for Moment {
    type Err = String;

    /// `fuse`, `cse:2`.
    fn from_str(text: &str) -> Result<Moment, String> {
        let (pass, time) = match text.split_once(':') {
            Some((pass, time)) => (pass, time.parse().ok().filter(|&time| time > 0)),
            None => (text, Some(1)),
        };
        let time = time.ok_or_else(|| format!("`{text}` is no pass, as `fuse` is, and no second one, as `cse:2`"))?;
        Ok(Moment { pass: pass.to_string(), time })
    }
}

/// Waits for a moment, and keeps what is seen then.
pub struct Camera<'m> {
    moment: &'m Moment,
    runs: usize,
    picture: Option<String>,
}

impl<'m> Camera<'m> {
    pub fn new(moment: &'m Moment) -> Camera<'m> {
        Camera { moment, runs: 0, picture: None }
    }

    /// A pass has run.
    pub fn see(&mut self, pass: &str, code: &dyn std::fmt::Display) {
        if means(&self.moment.pass, pass) {
            self.runs += 1;
            if self.runs == self.moment.time {
                self.picture = Some(code.to_string());
            }
        }
    }

    /// What was seen. A pass may run fewer times, or be left out.
    pub fn picture(self) -> anyhow::Result<String> {
        let Moment { pass, time } = self.moment;
        match (self.picture, self.runs) {
            (Some(text), _) => Ok(text),
            (None, 0) => usage(format!("`{pass}` does not run here: it is left out")),
            (None, runs) => usage(format!("`{pass}:{time}` is never: `{pass}` runs {runs} times here")),
        }
    }
}

/// A wrong name of a pass is a mistake on the command line.
pub fn known(checked: Result<(), RoadError>) -> anyhow::Result<()> {
    checked.or_else(|error| usage(error.to_string()))
}
