//! What an axis is, and its extent: how many positions it has, as an expression over the named axes.
//!
//! This is all that an axis says about itself; those that there are stand in `axis.rs`. An extent is a `Size` whose variables are axes instead of
//! the declarations of a program. Tracing gives each its declaration, and a call its value.

use slyz_sir::size::{Size, SizeError};
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
pub struct Extent(Size<NamedAxis>);

/// An axis that gets its value at the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NamedAxis {
    /// The type of the axis.
    pub(crate) id: TypeId,
    /// Its name in messages.
    pub(crate) name: &'static str,
}

impl fmt::Display for NamedAxis {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The elements of so many extents; none where one is 0, however large the others are. `None` where nobody can count them.
pub(crate) fn count(dims: impl IntoIterator<Item = u64> + Clone) -> Option<u64> {
    let empty = dims.clone().into_iter().any(|dim| dim == 0);
    if empty { Some(0) } else { dims.into_iter().try_fold(1u64, |count, dim| count.checked_mul(dim)) }
}

/// What a call knows about the named axes.
pub(crate) type Env = HashMap<TypeId, u64>;

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
    /// assert_eq!(Extent::of::<Fix<3>>(), Extent::fixed(3));
    /// ```
    pub fn of<A: Axis>() -> Extent {
        axis_entry::<A>().1
    }

    /// The same in every call.
    ///
    /// ```
    /// use slyz::Extent;
    /// assert_eq!((Extent::fixed(3) * Extent::fixed(5)).to_string(), "15");
    /// ```
    pub fn fixed(n: u64) -> Extent {
        Extent(Size::Const(n))
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
        Extent(Size::Var(NamedAxis { id: TypeId::of::<A>(), name }))
    }

    /// The smaller of two.
    ///
    /// ```
    /// use slyz::Extent;
    /// assert_eq!(Extent::fixed(3).min(Extent::fixed(5)).to_string(), "min(3, 5)");
    /// ```
    pub fn min(self, other: Extent) -> Extent {
        if self == other { self } else { Extent(Size::Min(self.0.into(), other.0.into())) }
    }

    /// The number of parts of at most `n` positions; a part holds at least 1.
    ///
    /// ```
    /// use slyz::Extent;
    /// assert_eq!(Extent::fixed(10).ceil_div(4).to_string(), "ceil(10 / 4)");
    /// ```
    pub fn ceil_div(self, n: u64) -> Extent {
        Extent(Size::CeilDiv(self.0.into(), n.max(1)))
    }

    /// The cells of a triangle with that many rows, diagonal included.
    ///
    /// ```
    /// use slyz::Extent;
    /// assert_eq!(Extent::fixed(3).tri().to_string(), "tri(3)");
    /// ```
    pub fn tri(self) -> Extent {
        Extent(Size::Tri(self.0.into()))
    }

    /// The product of many; 1 for none.
    pub(crate) fn product(extents: &[Extent]) -> Extent {
        extents.iter().cloned().reduce(|a, b| a * b).unwrap_or(Extent::fixed(1))
    }

    /// The expression itself.
    pub(crate) fn size(&self) -> &Size<NamedAxis> {
        &self.0
    }

    /// The named axis, where the extent is one and not made of others.
    pub(crate) fn as_named(&self) -> Option<NamedAxis> {
        if let Size::Var(axis) = self.0 { Some(axis) } else { None }
    }

    pub(crate) fn eval(&self, env: &Env) -> Result<u64, SizeError<NamedAxis>> {
        self.0.eval(&|axis| env.get(&axis.id).copied())
    }

    /// Is it that axis, or made of it?
    pub(crate) fn mentions(&self, wanted: TypeId) -> bool {
        let mut found = false;
        self.0.each_var(&mut |axis| found |= axis.id == wanted);
        found
    }

    /// The value of the single unknown axis that makes the extent `total`, where that can be told.
    pub(crate) fn solve(&self, env: &Env, total: u64) -> Option<(TypeId, u64)> {
        let (axis, value) = self.0.solve(&|axis| env.get(&axis.id).copied(), total)?;
        Some((axis.id, value))
    }
}

impl std::ops::Add for Extent {
    type Output = Extent;
    fn add(self, other: Extent) -> Extent {
        Extent(self.0 + other.0)
    }
}

impl std::ops::Mul for Extent {
    type Output = Extent;
    fn mul(self, other: Extent) -> Extent {
        Extent(self.0 * other.0)
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.display(&|axis| axis.name.to_string()).fmt(f)
    }
}
