//! What is known of numbers, for every thread of a block.

use slyz_sir::types::Scalar;
use std::rc::Rc;

/// What is known of a number in one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fact {
    /// `None` where it comes from memory, or from too many turns of a loop.
    pub value: Option<Scalar>,
    /// It follows from what a launch passes, of which one example is tried.
    pub passed: bool,
    /// It follows from how blocks are cut into subgroups, which devices decide.
    pub subgroup: bool,
}

impl Fact {
    pub(super) const UNKNOWN: Fact = Fact { value: None, passed: false, subgroup: false };

    pub(super) fn known(value: Scalar) -> Fact {
        Fact { value: Some(value), ..Fact::UNKNOWN }
    }

    /// What follows from several, by a function of their values.
    pub(super) fn from(args: &[Fact], f: impl FnOnce(&[Scalar]) -> Option<Scalar>) -> Fact {
        let values: Option<Vec<Scalar>> = args.iter().map(|arg| arg.value).collect();
        Fact {
            value: values.and_then(|values| f(&values)),
            passed: args.iter().any(|arg| arg.passed),
            subgroup: args.iter().any(|arg| arg.subgroup),
        }
    }

    /// One of the two, nobody knows which.
    pub(super) fn either(self, other: Fact) -> Fact {
        let value = self.value.filter(|_| self.value == other.value);
        Fact { value, passed: self.passed || other.passed, subgroup: self.subgroup || other.subgroup }
    }

    pub(super) fn is(self, truth: bool) -> bool {
        self.value.is_some_and(|value| value.is_true() == truth)
    }
}

/// A number in all threads of a block.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// The same in all of them, known or not.
    Same(Fact),
    /// In each another one. Shared, since whoever computes with a number asks for all of it.
    Each(Rc<[Fact]>),
}

impl Value {
    pub(super) fn of(&self, thread: usize) -> Fact {
        match self {
            Value::Same(fact) => *fact,
            Value::Each(facts) => facts[thread],
        }
    }

    /// Different things in the threads, and nobody knows what.
    pub(super) fn unknown(threads: usize) -> Value {
        Value::Each(vec![Fact::UNKNOWN; threads].into())
    }

    /// What follows from several.
    pub(super) fn from(args: &[&Value], threads: usize, f: impl Fn(&[Scalar]) -> Option<Scalar>) -> Value {
        let same: Option<Vec<Fact>> = args
            .iter()
            .map(|arg| match arg {
                Value::Same(fact) => Some(*fact),
                Value::Each(_) => None,
            })
            .collect();
        match same {
            Some(facts) => Value::Same(Fact::from(&facts, &f)),
            None => {
                let fact = |thread| Fact::from(&args.iter().map(|arg| arg.of(thread)).collect::<Vec<Fact>>(), &f);
                Value::Each((0..threads).map(fact).collect())
            }
        }
    }

    /// Thread by thread, one of the two.
    pub(super) fn merged(&self, other: &Value, threads: usize, pick: impl Fn(usize, Fact, Fact) -> Fact) -> Value {
        match (self, other) {
            (Value::Same(a), Value::Same(b)) if a == b => Value::Same(*a),
            _ => Value::Each((0..threads).map(|thread| pick(thread, self.of(thread), other.of(thread))).collect()),
        }
    }
}

/// Does a thread come by?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Here {
    No,
    Perhaps,
    Yes,
}

/// Where a thread stands in its block.
pub(super) fn position([x, y, _]: [u32; 3], thread: u32) -> [u32; 3] {
    [thread % x, thread / x % y, thread / (x * y)]
}
