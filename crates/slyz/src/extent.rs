//! What an axis is, and its extent: how many positions it has, as an expression over the named axes.
//!
//! This is all that an axis says about itself; those that there are stand in `axis.rs`. Tracing turns it into a size of the program, and a call
//! gives the named axes their values.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::sync::{LazyLock, PoisonError, RwLock};

/// A set of positions. Name one with [`axis!`](crate::axis), derive it on an enum, or write your own from others.
///
/// ```
/// use slyz::{Axis, Extent, Fix};
/// struct Twice<A>(std::marker::PhantomData<A>);
/// impl<A: Axis> Axis for Twice<A> {
///     fn size() -> Extent { Extent::of::<A>() + Extent::of::<A>() }
///     fn name() -> String { format!("Twice<{}>", A::name()) }
/// }
/// assert_eq!(Twice::<Fix<3>>::name(), "Twice<3>");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an axis",
    label = "not an axis",
    note = "name one with `axis!({Self})`, derive `Axis` on an enum or `Naperian` on a struct, or use `Fix<8>`, `Either<A, B>`, `Min<A, B>`, `Tri<A>`, `Flat<A, B>`"
)]
pub trait Axis: 'static {
    /// How many positions there are.
    fn size() -> Extent;

    /// The name in messages.
    fn name() -> String;
}

/// The number of positions of an axis.
///
/// ```
/// use slyz::{Axis, Extent, Fix, axis};
/// axis!(N);
/// assert_eq!((Extent::of::<N>() + Extent::of::<Fix<2>>()).to_string(), "(N + 2)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// The same in every call.
    Const(u64),
    /// Known at the call: the axis type, and its name for messages.
    Var(TypeId, &'static str),
    /// The sum of two.
    Add(Box<Extent>, Box<Extent>),
    /// The product of two.
    Mul(Box<Extent>, Box<Extent>),
    /// The smaller of two.
    Min(Box<Extent>, Box<Extent>),
    /// The number of parts of at most that many; rounds up.
    CeilDiv(Box<Extent>, u64),
    /// The cells of a packed triangle with that many rows.
    Tri(Box<Extent>),
}

/// The elements of so many extents; none where one is 0, however large the others are. `None` where nobody can count them.
pub(crate) fn count(dims: impl IntoIterator<Item = u64> + Clone) -> Option<u64> {
    let empty = dims.clone().into_iter().any(|dim| dim == 0);
    if empty { Some(0) } else { dims.into_iter().try_fold(1u64, |count, dim| count.checked_mul(dim)) }
}

/// What a call knows about the named axes.
pub(crate) type Env = HashMap<TypeId, u64>;

/// Why an extent has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoValue {
    /// The named axis is not known.
    Unknown(&'static str),
    /// Past the index type.
    Overflow,
}

/// The number and the extent of an axis, the same for the whole program. Numbers start at 1.
fn axis_entry<A: Axis>() -> (u32, Extent) {
    static AXES: LazyLock<RwLock<HashMap<TypeId, (u32, Extent)>>> = LazyLock::new(RwLock::default);
    let id = TypeId::of::<A>();
    if let Some(entry) = AXES.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
        return entry.clone();
    }
    // Asked outside of the lock: the answer may be made of other axes.
    let size = A::size();
    let mut axes = AXES.write().unwrap_or_else(PoisonError::into_inner);
    let number = axes.len() as u32 + 1;
    axes.entry(id).or_insert((number, size)).clone()
}

/// The number of an axis, which tells handles of its positions from others.
pub(crate) fn axis_number<A: Axis>() -> u32 {
    axis_entry::<A>().0
}

impl Extent {
    /// The extent of an axis: what [`Axis::size`](crate::Axis::size) said when it was first asked. Reads are not
    /// checked against extents, so an axis must not be one size here and another there.
    ///
    /// ```
    /// use slyz::{Extent, Fix};
    /// assert_eq!(Extent::of::<Fix<3>>(), Extent::Const(3));
    /// ```
    pub fn of<A: Axis>() -> Extent {
        axis_entry::<A>().1
    }

    /// The extent of an axis that gets its value at the call. `A` is the axis itself, `name` its name in messages.
    ///
    /// ```
    /// use slyz::{Axis, Extent};
    /// struct Time;
    /// impl Axis for Time {
    ///     fn size() -> Extent { Extent::named::<Time>("Time") }
    ///     fn name() -> String { "Time".into() }
    /// }
    /// assert_eq!(Extent::of::<Time>().to_string(), "Time");
    /// ```
    pub fn named<A: 'static>(name: &'static str) -> Extent {
        Extent::Var(TypeId::of::<A>(), name)
    }

    /// The smaller of two.
    ///
    /// ```
    /// use slyz::Extent;
    /// assert_eq!(Extent::Const(3).min(Extent::Const(5)).to_string(), "min(3, 5)");
    /// ```
    pub fn min(self, other: Extent) -> Extent {
        if self == other { self } else { Extent::Min(self.into(), other.into()) }
    }

    /// The number of parts of at most `n` positions; a part holds at least 1.
    ///
    /// ```
    /// use slyz::Extent;
    /// assert_eq!(Extent::Const(10).ceil_div(4).to_string(), "ceil(10 / 4)");
    /// ```
    pub fn ceil_div(self, n: u64) -> Extent {
        Extent::CeilDiv(self.into(), n.max(1))
    }

    /// The cells of a triangle with that many rows, diagonal included.
    ///
    /// ```
    /// use slyz::Extent;
    /// assert_eq!(Extent::Const(3).tri().to_string(), "tri(3)");
    /// ```
    pub fn tri(self) -> Extent {
        Extent::Tri(self.into())
    }

    /// The product of many; 1 for none.
    pub(crate) fn product(extents: &[Extent]) -> Extent {
        extents.iter().cloned().reduce(|a, b| a * b).unwrap_or(Extent::Const(1))
    }

    pub(crate) fn eval(&self, env: &Env) -> Result<u64, NoValue> {
        let value = match self {
            Extent::Const(n) => Some(*n),
            Extent::Var(id, name) => Some(*env.get(id).ok_or(NoValue::Unknown(name))?),
            Extent::Add(a, b) => a.eval(env)?.checked_add(b.eval(env)?),
            Extent::Mul(a, b) => a.eval(env)?.checked_mul(b.eval(env)?),
            Extent::Min(a, b) => Some(a.eval(env)?.min(b.eval(env)?)),
            Extent::CeilDiv(a, n) => Some(a.eval(env)?.div_ceil((*n).max(1))),
            Extent::Tri(a) => {
                let n = a.eval(env)? as u128;
                u64::try_from(n * (n + 1) / 2).ok()
            }
        };
        value.filter(|&n| n <= i64::MAX as u64).ok_or(NoValue::Overflow)
    }

    /// Is it that axis, or made of it?
    pub(crate) fn mentions(&self, wanted: TypeId) -> bool {
        match self {
            Extent::Const(_) => false,
            Extent::Var(id, _) => *id == wanted,
            Extent::Add(a, b) | Extent::Mul(a, b) | Extent::Min(a, b) => a.mentions(wanted) || b.mentions(wanted),
            Extent::CeilDiv(a, _) | Extent::Tri(a) => a.mentions(wanted),
        }
    }

    /// The value of the single unknown axis that makes the extent `total`, where that can be told.
    pub(crate) fn solve(&self, env: &Env, total: u64) -> Option<(TypeId, u64)> {
        match self {
            Extent::Const(_) => None,
            Extent::Var(id, _) => Some((*id, total)),
            Extent::Add(a, b) => match (a.eval(env), b.eval(env)) {
                (Ok(known), Err(_)) => b.solve(env, total.checked_sub(known)?),
                (Err(_), Ok(known)) => a.solve(env, total.checked_sub(known)?),
                (Ok(_), Ok(_)) | (Err(_), Err(_)) => None,
            },
            Extent::Mul(a, b) => match (a.eval(env), b.eval(env)) {
                (Ok(known), Err(_)) if known > 0 && total.is_multiple_of(known) => b.solve(env, total / known),
                (Err(_), Ok(known)) if known > 0 && total.is_multiple_of(known) => a.solve(env, total / known),
                (Ok(_) | Err(_), Ok(_) | Err(_)) => None,
            },
            Extent::Tri(a) => {
                let rows = ((8.0 * total as f64 + 1.0).sqrt() as u64 / 2).saturating_sub(2);
                (rows..rows + 5)
                    .find(|&n| n as u128 * (n as u128 + 1) / 2 == total as u128)
                    .and_then(|n| a.solve(env, n))
            }
            // Many values give the same minimum, and the same number of parts.
            Extent::Min(..) | Extent::CeilDiv(..) => None,
        }
    }
}

impl std::ops::Add for Extent {
    type Output = Extent;
    fn add(self, other: Extent) -> Extent {
        Extent::Add(self.into(), other.into())
    }
}

impl std::ops::Mul for Extent {
    type Output = Extent;
    fn mul(self, other: Extent) -> Extent {
        Extent::Mul(self.into(), other.into())
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Extent::Const(n) => write!(f, "{n}"),
            Extent::Var(_, name) => f.write_str(name),
            Extent::Add(a, b) => write!(f, "({a} + {b})"),
            Extent::Mul(a, b) => write!(f, "({a} * {b})"),
            Extent::Min(a, b) => write!(f, "min({a}, {b})"),
            Extent::CeilDiv(a, n) => write!(f, "ceil({a} / {n})"),
            Extent::Tri(a) => write!(f, "tri({a})"),
        }
    }
}
