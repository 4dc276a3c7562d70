//! `compile` and `call`: a traced function becomes something that runs.

use crate::elem::Exp;
use crate::error::{CallError, Error};
use crate::explain::Explanation;
use crate::extent::{Axis, Env, Extent, NamedAxis};
use crate::feed::{Arguments, Fed, Feed, KeptSizes, arguments, solved};
use crate::output::{Output, Outs, Results};
use crate::param::{Param, Parameters};
use crate::profile::Profile;
use crate::quantize::{Quantize, compile_smaller};
use crate::receive::{Receive, Receiver};
use crate::tensor::Tensor;
use crate::trace::{self, Leaf, Loc, Slot};
use crate::weights::{Parts, compile_with_weights, parameters};
use slyz_run::{Buffer, Device, Executable};
use slyz_sir::choices::Precision;
use slyz_sir::code::{Id, Type};
use slyz_sir::program::{Program, Require};
use slyz_sir::size::{Size, SizeError, SizeOrigin, SizeVar};
use slyz_sir::types::Ty;
use slyz_sir::views::{self, Storage};
use std::any::TypeId;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Functions that can be compiled. `Sig` is the type of the function, `fn(A, B) -> R`.
///
/// ```
/// use slyz::prelude::*;
/// fn twice<F: slyz::Function<fn(Exp<f32>) -> Exp<f32>>>(f: F) -> Result<f32, slyz::Error> {
///     let f = compile(f)?;
///     f.call(&f.call(3.0)?)?.value()
/// }
/// assert_eq!(twice(|x: Exp<f32>| x * x)?, 81.0);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "this cannot be compiled",
    label = "not a function of `Arr`s and `Exp`s",
    note = "give closure parameters their types: `|x: Arr<f32, N>, a: Exp<f32>| ..`",
    note = "at most 12 parameters, or structs of more with `#[derive(slyz::Arrays)]`; results are `Arr`, `Exp`, or tuples or structs of them"
)]
pub trait Function<Sig: Types> {
    #[doc(hidden)]
    fn run(&self, params: Sig::Params) -> Sig::Out;
}

/// Parameters and result of a function type.
///
/// ```
/// use slyz::prelude::*;
/// fn params<Sig: slyz::Types<Params = (Exp<f32>,)>>(_: &Compiled<Sig>) {}
/// ```
pub trait Types {
    /// The parameters as a tuple.
    type Params;
    /// The result.
    type Out;
}

/// `fn(A, B) -> R` with traced parameters and results. It is apart from [`Function`] so that rustc names the type that
/// does not fit.
///
/// ```
/// use slyz::prelude::*;
/// fn name<Sig: slyz::Signature>(f: &Compiled<Sig>) -> &str { &f.program().name }
/// ```
pub trait Signature: Types {
    #[doc(hidden)]
    fn params(at: Loc) -> Self::Params;

    #[doc(hidden)]
    fn outs(out: Self::Out) -> Outs;
}

/// What all copies of a compiled function share.
struct Shared {
    program: Program,
    sizes: Vec<NamedAxis>,
    slots: Vec<Slot>,
    /// Of the results, one by one.
    leaves: Vec<Leaf>,
    device: Arc<dyn Device>,
    code: Arc<dyn Executable>,
    tune: Tune,
    /// What runs instead of the program, where smaller numbers were asked for, or arguments stay.
    parts: Option<Parts>,
    /// The same for arguments that are views, by how they lie.
    for_views: Mutex<HashMap<Vec<Storage>, Arc<dyn Executable>>>,
    /// Views have code that is told how they lie, instead of some for each way.
    told: bool,
}

const _: fn() = || {
    fn shared_by_threads<T: Send + Sync>() {}
    shared_by_threads::<Tensor<f32>>();
    shared_by_threads::<Compiled<fn(Exp<f32>) -> Exp<f32>>>();
};

/// A compiled function: `Compiled<fn(Arr<f32, N>) -> Exp<f32>>`. It can be cloned, kept in structs and called from many
/// threads. `call` takes as many arguments as the function has parameters.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// struct Model { norm: Compiled<fn(Arr<f32, N>) -> Exp<f32>> }
/// let model = Model { norm: compile(|x: Arr<f32, N>| (x * x).sum().sqrt())? };
/// assert_eq!(model.norm.call(&[3.0f32, 4.0])?.value()?, 5.0);
/// # Ok::<(), slyz::Error>(())
/// ```
pub struct Compiled<Sig> {
    shared: Arc<Shared>,
    given: Given,
    /// Of calls with these `given` sizes.
    kept: Arc<KeptSizes>,
    signature: PhantomData<fn() -> Sig>,
}

/// What [`Compiled::size`] said.
#[derive(Clone, Default)]
struct Given {
    sizes: Env,
    /// The first axis that the function does not have.
    stranger: Option<String>,
}

impl<Sig> Compiled<Sig> {
    /// The same function, run by other code.
    pub(crate) fn with_code(&self, code: Arc<dyn Executable>, parts: Option<Parts>) -> Compiled<Sig> {
        let Shared { program, sizes, slots, leaves, device, tune, told, .. } = &*self.shared;
        let shared = Shared {
            program: program.clone(),
            sizes: sizes.clone(),
            slots: slots.clone(),
            leaves: leaves.clone(),
            device: device.clone(),
            code,
            tune: *tune,
            parts,
            for_views: Mutex::default(),
            told: *told,
        };
        Compiled { shared: Arc::new(shared), given: self.given.clone(), kept: Arc::default(), signature: PhantomData }
    }

    pub(crate) fn code(&self) -> Arc<dyn Executable> {
        self.shared.code.clone()
    }

    pub(crate) fn slots(&self) -> &[Slot] {
        &self.shared.slots
    }

    /// How many codes there are for views.
    #[cfg(test)]
    pub(crate) fn code_for_views(&self) -> usize {
        self.shared.for_views.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(crate) fn device_used(&self) -> &Arc<dyn Device> {
        &self.shared.device
    }
}

impl<Sig> Clone for Compiled<Sig> {
    fn clone(&self) -> Self {
        let shared = self.shared.clone();
        let given = self.given.clone();
        let kept = self.kept.clone();
        Compiled { shared, given, kept, signature: PhantomData }
    }
}

impl<Sig> std::fmt::Debug for Compiled<Sig> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Compiled {} on {}", self.shared.program.name, self.device())
    }
}

impl<Sig> Compiled<Sig> {
    /// What was generated for the device.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x * 2.0)?;
    /// assert!(!f.source().is_empty()); // C on the CPU, SIR on the interpreter
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn source(&self) -> &str {
        self.shared.code.source()
    }

    /// The traced function in SIR text, before any pass.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn double(x: Arr<f32, N>) -> Arr<f32, N> { x * 2.0 }
    /// assert!(compile(double)?.sir().starts_with("program double<N>(%0: f32[N]) -> f32[N] {"));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn sir(&self) -> String {
        self.shared.program.to_string()
    }

    /// The traced function, before any pass.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x * 2.0)?;
    /// assert_eq!(f.program().sizes.len(), 1); // the extent of N
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn program(&self) -> &Program {
        &self.shared.program
    }

    /// The name of the device.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let f = compile(|x: Exp<f32>| x)?;
    /// assert!(slyz::devices().iter().any(|device| device.name() == f.device()));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn device(&self) -> &str {
        self.shared.code.device()
    }

    /// What the function became: its launches, what was fused, and what each launch reads, writes and computes. Sizes
    /// that [`Compiled::size`] gives appear as numbers.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| (x * 2.0).sum())?;
    /// println!("{}", f.explain());
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn explain(&self) -> Explanation {
        let sizes: Vec<Option<u64>> =
            self.shared.sizes.iter().map(|axis| self.given.sizes.get(&axis.id).copied()).collect();
        let Shared { program, slots, code, parts, .. } = &*self.shared;
        let program = parts.as_ref().map_or(program, |parts| &parts.program);
        let explanation = Explanation::new(program, slots, &**code, &sizes);
        explanation.with_told(parts.as_ref().map_or(&[], |parts| &parts.told))
    }

    /// Runs calls and tells where their time goes, kernel by kernel: a GPU's own clock where it has one, the host's
    /// elsewhere. Each kernel is waited for, so that the calls take longer than usual. Run the function once before: its first
    /// call for new sizes may compile.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x * 2.0 + 1.0)?;
    /// let x = Tensor::from_vec([1000], vec![1.0f32; 1000])?;
    /// f.call(&x)?;
    /// let (y, profile) = f.profile(|f| f.call(&x))?;
    /// println!("{profile}");
    /// assert_eq!(y.to_vec()?[999], 3.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn profile<R>(&self, act: impl FnOnce(&Self) -> Result<R, Error>) -> Result<(R, Profile), Error> {
        let start = Instant::now();
        let (result, launches) = slyz_run::profile(|| act(self));
        let seconds = start.elapsed().as_secs_f64();
        Ok((result?, Profile::new(&*self.shared.code, seconds, launches)))
    }

    /// Fixes the extent of a named axis that no argument tells. An axis that the function does not have is an error of the next call.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// assert_eq!(compile(iota::<N>)?.size::<N>(2).call()?.to_vec()?, [0, 1]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn size<A: Axis>(mut self, n: usize) -> Self {
        match Extent::of::<A>().as_named() {
            Some(axis) if self.shared.has(axis.id) => {
                self.given.sizes.insert(axis.id, n as u64);
                self.kept = Arc::default();
            }
            _ => drop(self.given.stranger.get_or_insert_with(A::name)),
        }
        self
    }
}

/// The sizes of a program over arguments that lie like this: its own, and how long the memories of strided ones are.
fn sizes_of_memories(sizes: &[Option<u64>], storages: &[Storage], args: &Arguments) -> Vec<Option<u64>> {
    let mut place = 0;
    let memory = |storage: &Storage| {
        let argument = args.get(place);
        place += 1 + storage.numbers();
        match (storage, argument) {
            (Storage::Strided(_), Some(slyz_run::Argument::Array { shape, .. })) => Some(shape.first().copied()),
            _ => None,
        }
    };
    let memories: Vec<Option<u64>> = storages.iter().filter_map(memory).collect();
    [sizes, &memories].concat()
}

/// The value of the single unknown variable that makes the size `total`, where that can be told.
fn solve_size(size: &Size, value: &dyn Fn(SizeVar) -> Option<u64>, total: u64) -> Option<(SizeVar, u64)> {
    match size {
        Size::Var(var) => value(*var).is_none().then_some((*var, total)),
        Size::Add(a, b) => match (a.eval(value), b.eval(value)) {
            (Ok(known), Err(_)) => solve_size(b, value, total.checked_sub(known)?),
            (Err(_), Ok(known)) => solve_size(a, value, total.checked_sub(known)?),
            (Ok(_), Ok(_)) | (Err(_), Err(_)) => None,
        },
        Size::Mul(a, b) => match (a.eval(value), b.eval(value)) {
            (Ok(known), Err(_)) if known > 0 && total.is_multiple_of(known) => solve_size(b, value, total / known),
            (Err(_), Ok(known)) if known > 0 && total.is_multiple_of(known) => solve_size(a, value, total / known),
            (Ok(_) | Err(_), Ok(_) | Err(_)) => None,
        },
        // Many values give the same.
        Size::Const(_) | Size::Min(..) | Size::CeilDiv(..) | Size::Tri(_) => None,
    }
}

impl Shared {
    /// Is there such an axis, in the program or in a parameter?
    fn has(&self, axis: TypeId) -> bool {
        let mut params = self.slots.iter().flat_map(|slot| &slot.axes);
        self.sizes.iter().any(|known| known.id == axis) || params.any(|extent| extent.mentions(axis))
    }

    fn call<'k>(&'k self, given: &Given, kept: &'k KeptSizes, args: &Fed) -> Result<Results<'k>, Error> {
        self.call_into(given, kept, args, &mut [])
    }

    /// Calls it, with its results in memory of the caller's, if there is some for each.
    fn call_into<'k>(
        &'k self,
        given: &Given,
        kept: &'k KeptSizes,
        args: &Fed,
        into: &mut [Receiver<'_>],
    ) -> Result<Results<'k>, Error> {
        if let Some(axis) = &given.stranger {
            let axes = self.sizes.iter().map(|axis| axis.name).collect::<Vec<&str>>().join(", ");
            let axes = if axes.is_empty() { "none".to_string() } else { axes };
            return Err(CallError::Stranger { axis: axis.clone(), axes }.into());
        }
        let solved = solved(kept, &self.slots, args, &given.sizes, &|env| self.sizes(env))?;
        self.receive(into, &solved.sizes)?;
        let outputs = {
            let storages = args.storages().map(|storages| self.form_of(storages));
            let mut taken = Arguments::new();
            arguments(&self.slots, args, &solved, storages.as_deref(), &mut taken)?;
            let mut whole: Vec<Option<&mut Buffer>> = into.iter_mut().map(Receiver::whole).collect();
            let mut run = || match &storages {
                None => Ok(self.code.run_into(&solved.sizes, &taken, &mut whole)?),
                Some(storages) => {
                    let sizes = sizes_of_memories(&solved.sizes, storages, &taken);
                    Ok::<_, Error>(self.for_views(storages)?.run_into(&sizes, &taken, &mut whole)?)
                }
            };
            match self.tune {
                Tune::Model => run()?,
                Tune::Measured => slyz_run::tune::tuned(run)?,
            }
        };
        let believed = slyz_run::is_own_executable(&*self.code);
        if !believed {
            self.check_outputs(&outputs, &solved.sizes)?;
        }
        for (receiver, output) in into.iter_mut().zip(&outputs) {
            receiver.put(&self.device, output)?;
        }
        Ok(Results { outputs: outputs.into_iter(), believed, leaves: self.leaves.iter(), solved })
    }

    /// Does what results are written into have their types and shapes?
    fn receive(&self, into: &[Receiver<'_>], sizes: &[Option<u64>]) -> Result<(), CallError> {
        if into.is_empty() {
            return Ok(());
        }
        for (number, (receiver, (ty, shape))) in into.iter().zip(self.results(sizes)).enumerate() {
            receiver.fits(number + 1, ty, &shape)?;
        }
        Ok(())
    }

    /// The type and the extents of each result. What is counted while the function runs is not known.
    fn results(&self, sizes: &[Option<u64>]) -> impl Iterator<Item = (Ty, Vec<Option<u64>>)> {
        let body = &self.program.body;
        let bound = body.params.iter().chain(body.stmts.iter().flat_map(|stmt| &stmt.binds));
        let types: HashMap<Id, &Type> = bound.map(|var| (var.id, &var.ty)).collect();
        let extent = |size: &Size| size.eval(&|var| sizes.get(var.0 as usize).copied().flatten()).ok();
        body.results.iter().filter_map(move |id| {
            let ty = types.get(id)?;
            Some((ty.elem(), ty.shape().iter().map(extent).collect()))
        })
    }

    /// How code takes arguments that lie like this: each kind of view has its own, or all but tiles one that is told the distances.
    fn form_of(&self, storages: Vec<Storage>) -> Vec<Storage> {
        let told = self.told.then(|| views::told_for(&self.program, &storages)).flatten();
        told.unwrap_or(storages)
    }

    /// The function over arguments that lie in memory like this.
    // The program that is vouched for is the one that was traced.
    #[allow(unsafe_code)]
    fn for_views(&self, storages: &[Storage]) -> Result<Arc<dyn Executable>, Error> {
        let mut kept = self.for_views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = kept.get(storages) {
            return Ok(code.clone());
        }
        let program = views::stored(&self.program, storages);
        // SAFETY: as in `build`. What is read of a view is in its memory, which each call holds it against (`lying.rs`).
        let code = unsafe { self.device.compile_trusted(&program) }?;
        kept.insert(storages.to_vec(), code.clone());
        Ok(code)
    }

    /// Adds the sizes that no argument tells, and that follow from others which must be equal.
    fn learn(&self, env: &mut Env) {
        let unknown = |var: SizeVar, env: &Env| {
            let decl = self.program.sizes.get(var.0 as usize)?;
            let axis = self.sizes.get(var.0 as usize)?;
            (decl.origin == SizeOrigin::Given && !env.contains_key(&axis.id)).then_some(axis.id)
        };
        let follows = |require: &Require, env: &Env| {
            let Require::Equal(a, b) = require else { return None };
            let value = |var: SizeVar| self.sizes.get(var.0 as usize).and_then(|axis| env.get(&axis.id).copied());
            let one_tells = |known: &Size, other: &Size| solve_size(other, &value, known.eval(&value).ok()?);
            let (var, extent) = one_tells(a, b).or_else(|| one_tells(b, a))?;
            Some((unknown(var, env)?, extent))
        };
        while let Some((axis, extent)) = self.program.requires.iter().find_map(|require| follows(require, env)) {
            env.insert(axis, extent);
        }
    }

    /// The sizes of the program, which its requirements have been held against.
    fn sizes(&self, env: &mut Env) -> Result<Vec<Option<u64>>, CallError> {
        self.learn(env);
        let mut sizes = vec![];
        for (axis, decl) in self.sizes.iter().zip(&self.program.sizes) {
            sizes.push(match decl.origin {
                SizeOrigin::Counted => None,
                SizeOrigin::Given => {
                    Some(*env.get(&axis.id).ok_or_else(|| CallError::Unknown { axis: axis.to_string() })?)
                }
            });
        }
        for require in &self.program.requires {
            self.check(require, &sizes)?;
        }
        Ok(sizes)
    }

    /// Are the results of somebody's own device what the function says? What positions are in them is looked at when they
    /// are passed on.
    fn check_outputs(&self, outputs: &[slyz_run::Output], sizes: &[Option<u64>]) -> Result<(), CallError> {
        let expected = self.program.body.results.len();
        let wrong = |why: String| Err(CallError::Returned { device: self.code.device().to_string(), why });
        if outputs.len() != expected {
            return wrong(format!("{} results instead of {expected}", outputs.len()));
        }
        for (k, (output, (ty, shape))) in outputs.iter().zip(self.results(sizes)).enumerate() {
            let differs = |(expected, found): (&Option<u64>, &u64)| expected.is_some_and(|extent| extent != *found);
            let len = output.shape.iter().try_fold(output.ty.bytes() as u64, |len, &extent| len.checked_mul(extent));
            let differ = shape.len() != output.shape.len() || shape.iter().zip(&output.shape).any(differs);
            if output.ty != ty || differ {
                return wrong(format!("result {} is {}{:?}", k + 1, output.ty, output.shape));
            }
            if len != Some(output.data.len() as u64) {
                return wrong(format!("result {} of shape {:?} has {} bytes", k + 1, output.shape, output.data.len()));
            }
        }
        Ok(())
    }

    fn check(&self, require: &Require, sizes: &[Option<u64>]) -> Result<(), CallError> {
        let name = |var: SizeVar| self.sizes.get(var.0 as usize).map_or(String::new(), NamedAxis::to_string);
        let text = |size: &Size| size.display(&name).to_string();
        let eval = |size: &Size| size.eval(&|var| sizes.get(var.0 as usize).copied().flatten());
        let value = |size: &Size| eval(size).map_err(|_| CallError::Overflow { size: text(size) });
        let late = |size: &Size| matches!(eval(size), Err(SizeError::Unknown(_)));
        match require {
            // What is counted while the function runs is checked by the device, then.
            Require::NonEmpty(a) if late(a) => Ok(()),
            Require::Equal(a, b) | Require::AtMost(a, b) if late(a) || late(b) => Ok(()),
            Require::NonEmpty(size) if value(size)? == 0 => Err(CallError::Empty { axis: text(size) }),
            Require::Equal(a, b) if value(a)? != value(b)? => {
                Err(CallError::Unequal { left: text(a), left_value: value(a)?, right: text(b), right_value: value(b)? })
            }
            Require::AtMost(a, b) if value(a)? > value(b)? => Err(CallError::TooShort {
                left: text(a),
                left_value: value(a)?,
                right: text(b),
                right_value: value(b)?,
            }),
            Require::NonEmpty(_) | Require::Equal(..) | Require::AtMost(..) => Ok(()),
        }
    }
}

macro_rules! arity {
    ($($A:ident $a:ident),*) => {
        impl<R: Output, $($A: Param),*> Signature for fn($($A),*) -> R {
            #[allow(clippy::unused_unit)]
            fn params(at: Loc) -> ($($A,)*) {
                let mut _from = Parameters::new(at);
                ($(_from.argument::<$A>(),)*)
            }
            fn outs(out: R) -> Outs {
                let mut outs = Outs::default();
                out.outs(&mut outs);
                outs
            }
        }
        impl<R, $($A),*> Types for fn($($A),*) -> R {
            type Params = ($($A,)*);
            type Out = R;
        }
        impl<Func: Fn($($A),*) -> R, R, $($A),*> Function<fn($($A),*) -> R> for Func {
            fn run(&self, ($($a,)*): ($($A,)*)) -> R { self($($a),*) }
        }
        impl<R: Output, $($A),*> Compiled<fn($($A),*) -> R> {
            /// Runs the function. Sizes follow from the arguments; what may be passed is said at [`Feed`].
            #[allow(clippy::too_many_arguments)]
            pub fn call(&self, $($a: impl Feed<$A>),*) -> Result<R::Host, Error> {
                let mut _fed = Fed::new();
                $($a.feed(&mut _fed);)*
                let mut results = self.shared.call(&self.given, &self.kept, &_fed)?;
                Ok(R::read(&mut results))
            }

            /// Runs the function, and writes its results into tensors or views of the caller's instead of new ones: what may be
            /// passed is said at [`Receive`]. All of a tensor that nobody else sees is written where it is, once results of the device lie there: on the
            /// CPU the first takes the place of a list or of zeros. After an error there may be anything in it.
            #[allow(clippy::too_many_arguments)]
            pub fn call_into(&self, mut into: impl Receive<R>, $($a: impl Feed<$A>),*) -> Result<(), Error> {
                let mut _fed = Fed::new();
                $($a.feed(&mut _fed);)*
                let mut receivers = vec![];
                into.receive(&mut receivers);
                self.shared.call_into(&self.given, &self.kept, &_fed, &mut receivers)?;
                Ok(())
            }
        }
    };
}
arity!();
arity!(A a);
arity!(A a, B b);
arity!(A a, B b, C c);
arity!(A a, B b, C c, D d);
arity!(A a, B b, C c, D d, E e);
arity!(A a, B b, C c, D d, E e, F f);
arity!(A a, B b, C c, D d, E e, F f, G g);
arity!(A a, B b, C c, D d, E e, F f, G g, H h);
arity!(A a, B b, C c, D d, E e, F f, G g, H h, I i);
arity!(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j);
arity!(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k);
arity!(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k, L l);

/// Traces a function and compiles it for the best device of this machine (`SLYZ_DEVICE` names another).
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// fn saxpy(a: Exp<f32>, x: Arr<f32, N>, y: Arr<f32, N>) -> Arr<f32, N> { x * a + y }
/// let f = compile(saxpy)?;
/// assert_eq!(f.call(2.0, &[1.0f32, 2.0], &[10.0f32, 20.0])?.to_vec()?, [12.0, 24.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn compile<Sig: Signature, F: Function<Sig>>(f: F) -> Result<Compiled<Sig>, Error> {
    let at: Loc = Location::caller();
    compile_for(at, &Options::new(), f)
}

/// Traces a function and compiles it for a device.
///
/// ```
/// use slyz::prelude::*;
/// let device = slyz::device("interpreter")?;
/// let f = slyz::compile_on(&device, |x: Exp<f32>| x + 1.0)?;
/// assert_eq!((f.device(), f.call(1.0)?.value()?), ("interpreter", 2.0));
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn compile_on<Sig: Signature, F: Function<Sig>>(device: &Arc<dyn Device>, f: F) -> Result<Compiled<Sig>, Error> {
    let at: Loc = Location::caller();
    compile_for(at, &Options::new().device(device), f)
}

/// Traces a function and compiles it with choices.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::{Options, Precision};
/// axis!(N);
/// let f = slyz::compile_with(|x: Arr<f32, N>| x.exp(), &Options::new().precision(Precision::Native))?;
/// assert_eq!(f.call(&[0.0f32])?.to_vec()?, [1.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn compile_with<Sig: Signature, F: Function<Sig>>(f: F, options: &Options) -> Result<Compiled<Sig>, Error> {
    let at: Loc = Location::caller();
    compile_for(at, options, f)
}

/// What can be chosen about a compilation.
#[derive(Clone, Default)]
pub struct Options {
    device: Option<Arc<dyn Device>>,
    precision: Option<Precision>,
    quantize: Option<Quantize>,
    weights: Vec<usize>,
    tune: Tune,
    told: bool,
}

/// Who chooses tile sizes, elements a thread, block sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tune {
    /// A model of the machine.
    #[default]
    Model,
    /// The clock: the first call for about the same sizes is run several times in several ways, and the fastest is kept, on disk too. So are all
    /// calls where the environment variable `SLYZ_TUNE` is 1.
    Measured,
}

impl Options {
    /// Nothing chosen: the best device, and its own precision.
    pub fn new() -> Options {
        Options::default()
    }

    /// For that device.
    pub fn device(self, device: &Arc<dyn Device>) -> Options {
        Options { device: Some(device.clone()), ..self }
    }

    /// As precise as that. Otherwise the environment variable `SLYZ_PRECISION` says how precise GPUs are, or else they keep to the
    /// operator table.
    pub fn precision(self, precision: Precision) -> Options {
        Options { precision: Some(precision), ..self }
    }

    /// Over smaller numbers. Nothing is measured: [`Compiled::quantize`] does that.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// use slyz::{Options, Quantize};
    /// axis!(N, K, M);
    /// let halves = Options::new().quantize(Quantize::f16().weights([2]));
    /// let f = slyz::compile_with(|x: Arr<f32, (N, K)>, w: Arr<f32, (K, M)>| x.matmul(w), &halves)?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0]], &[[0.5f32], [0.25]])?.to_vec()?, [1.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn quantize(self, how: Quantize) -> Options {
        Options { quantize: Some(how), ..self }
    }

    /// Arguments that stay the same from call to call, counted from 1: what is made of one of them alone is made once for each tensor, and an
    /// argument that is read across the order in which it lies gets a copy, once, in the order of its readers. [`Compiled::explain`]
    /// tells what that is. It holds for tensors; of a list or a slice nobody can say whether it is the same as before. The last four tensors
    /// are held: whoever writes to one of them writes to a copy.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// use slyz::Options;
    /// axis!(Word, Wide, N);
    /// // A table with a column for each word: its elements are apart in memory, and neighbours in the copy.
    /// let words = |table: Arr<f32, (Wide, Word)>, which: Arr<At<Word>, N>| -> Arr<f32, (N, Wide)> {
    ///     tabulate(|(i, d): (Idx<N>, Idx<Wide>)| table.at((d, which.at(i))))
    /// };
    /// let f = slyz::compile_with(words, &Options::new().weights([1]))?;
    /// let table = Tensor::<f32, (Wide, Word)>::from_vec([2, 3], vec![0.0, 1.0, 2.0, 10.0, 11.0, 12.0])?;
    /// assert_eq!(f.call(&table, &[At::new(2), At::new(0)])?.to_vec()?, [2.0, 12.0, 0.0, 10.0]);
    /// assert!(f.explain().to_string().contains("argument 1 lies as [Word, Wide] for its readers"));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn weights(self, arguments: impl IntoIterator<Item = usize>) -> Options {
        Options { weights: arguments.into_iter().collect(), ..self }
    }

    /// With one code for views of all strides, as bundles have it.
    #[cfg(any(feature = "cpu", feature = "cuda", feature = "wgpu"))]
    pub(crate) fn told_of_views(self) -> Options {
        Options { told: true, ..self }
    }

    /// With plans that a model chooses, or the clock.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// use slyz::{Options, Tune};
    /// axis!(N);
    /// let f = slyz::compile_with(|x: Arr<f32, N>| x + 1.0, &Options::new().tune(Tune::Measured))?;
    /// assert_eq!(f.call(&[0.5f32])?.to_vec()?, [1.5]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn tune(self, tune: Tune) -> Options {
        Options { tune, ..self }
    }
}

/// The device with that name.
///
/// ```
/// let device = slyz::device("interpreter")?;
/// assert_eq!(device.name(), "interpreter");
/// assert!(slyz::device("abacus").is_err());
/// # Ok::<(), slyz::Error>(())
/// ```
pub fn device(name: &str) -> Result<Arc<dyn Device>, Error> {
    Ok(slyz_run::device(Some(name))?)
}

/// The device that [`compile`] takes when `SLYZ_DEVICE` names none: the CPU, or, on a machine with a GPU, one that runs each
/// call where it is faster. [`Compiled::explain`] says where that is.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = slyz::compile_on(&slyz::auto(), |x: Arr<f32, N>| x.sum())?;
/// println!("{}", f.clone().size::<N>(1 << 24).explain());
/// assert_eq!(f.call(&[1.0f32, 2.0])?.value()?, 3.0);
/// # Ok::<(), slyz::Error>(())
/// ```
pub fn auto() -> Arc<dyn Device> {
    slyz_run::auto()
}

/// Every device of this machine, best first.
///
/// ```
/// for device in slyz::devices() {
///     println!("{}", device.describe());
/// }
/// ```
pub fn devices() -> Vec<Arc<dyn Device>> {
    slyz_run::devices()
}

pub(crate) fn compile_for<Sig: Signature, F: Function<Sig>>(
    at: Loc,
    options: &Options,
    f: F,
) -> Result<Compiled<Sig>, Error> {
    let trace = &mut || Sig::outs(f.run(Sig::params(at)));
    let shared = build(at, options, std::any::type_name::<F>(), trace)?;
    Ok(Compiled { shared: Arc::new(shared), given: Given::default(), kept: Arc::default(), signature: PhantomData })
}

// The program that is vouched for is traced here.
#[allow(unsafe_code)]
fn build(at: Loc, options: &Options, path: &str, f: &mut dyn FnMut() -> Outs) -> Result<Shared, Error> {
    let mut leaves = vec![];
    let outs = &mut || {
        let outs = f();
        leaves = outs.leaves;
        outs.outs
    };
    let mut traced = trace::run(at, &function_name(path), outs).map_err(Error::Trace)?;
    traced.program.precision = options.precision.or(traced.program.precision);
    let device = match &options.device {
        Some(device) => device.clone(),
        None => slyz_run::device(None)?,
    };
    let trace::Traced { program, sizes, slots, small } = traced;
    let stay = (!options.weights.is_empty()).then_some(&options.weights[..]);
    let (code, parts) = match (options.quantize.clone().or(small.map(Quantize::to)), stay) {
        (Some(how), stay) => {
            let weights = how.weights.clone().or(stay.map(<[usize]>::to_vec));
            let (code, parts) = compile_smaller(&*device, &program, &Quantize { weights, ..how }.request(&slots)?)?;
            (code, Some(parts))
        }
        (None, Some(weights)) => {
            let (code, parts) = compile_with_weights(&*device, &program, &slots, &parameters(&slots, weights)?)?;
            (code, Some(parts))
        }
        // SAFETY: arrays are read at positions that are an `Idx` of their axis. Axes make those (`position.rs`, `axis.rs`), handles that
        // are none are refused (`Handle::expect_axis`), and what calls bring in is checked against the extents (`feed.rs`).
        (None, None) => (unsafe { device.compile_trusted(&program) }?, None),
    };
    let Options { tune, told, .. } = *options;
    Ok(Shared { program, sizes, slots, leaves, device, code, tune, parts, for_views: Mutex::default(), told })
}

/// The last name of a path that is an identifier: a closure is called after the function it stands in.
pub(crate) fn function_name(path: &str) -> String {
    let path = path.split('<').next().unwrap_or(path);
    let is_name = |part: &&str| part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let name = path.rsplit("::").find(is_name).unwrap_or("main");
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
