//! Calls on one device that wait for their results to be asked for, and are run together.
//!
//! Whoever asks for a result gets the calls that it needs as one program ([`chain`]). Other results of those calls that somebody still
//! holds are not computed with it: most often nobody asks for them. Who does, has everything computed that is left.

use super::compiled::Compiled;
use super::engine::Engine;
use super::resident;
use crate::buffer::later::{self, Later, Promised, Settle};
use crate::memo::Memo;
use crate::signature::{Bound, Signature};
use crate::{Argument, ArrayData, Buffer, Error, Output, hash};
use slyz_sir::chain::{Chain, Cut, Given, Link, Source, chain};
use slyz_sir::code::{Body, Op};
use slyz_sir::program::Program;
use slyz_sir::size::{SizeOrigin, SizeVar};
use slyz_sir::types::{Scalar, Ty};
use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Calls that wait at once. A loop of the host with as many turns would be a program that takes long to compile.
const MOST_CALLS: usize = 32;
/// Statements of theirs.
const MOST_STATEMENTS: usize = 1_500;
/// Chains of calls, and programs of them, that are kept.
const KEPT: usize = 256;

/// A program whose calls may wait.
pub(crate) struct Callable {
    pub(crate) program: Program,
    signature: Signature,
    pub(super) hash: [u8; 32],
    statements: usize,
    /// Are its results as large as its sizes say?
    sized: bool,
}

impl Callable {
    pub(crate) fn new(program: Program) -> Callable {
        Callable {
            signature: Signature::of(&program),
            hash: hash::of(&program),
            statements: statements(&program.body),
            sized: program.sizes.iter().all(|size| size.origin == SizeOrigin::Given),
            program,
        }
    }
}

fn statements(body: &Body) -> usize {
    let inside = |op: &Op| op.bodies().into_iter().map(statements).sum::<usize>();
    body.stmts.iter().map(|stmt| 1 + inside(&stmt.op)).sum()
}

/// Notes a call on a thread whose calls wait, and promises its results. Nothing where it has to run now.
///
/// # Safety
/// Positions of the program are inside its arrays in this call, by construction or because they are tested.
pub(crate) unsafe fn note<E: Engine>(
    engine: &E,
    callable: &Arc<Callable>,
    sizes: &[Option<u64>],
    args: &[Argument<'_>],
) -> Result<Option<Vec<Output>>, Error> {
    if !later::is_lazy() || !callable.sized {
        return Ok(None);
    }
    let make = || Waiting { engine: engine.clone(), calls: Mutex::default() };
    let Some(waiting) = later::calls(|known: &Waiting<E>| known.engine.address() == engine.address(), make) else {
        return Ok(None);
    };
    waiting.note(callable, sizes, args).map(Some)
}

/// Calls that wait.
struct Waiting<E: Engine> {
    engine: E,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    /// The number of the next one.
    next: u64,
    /// By number: those that one needs have smaller ones.
    list: BTreeMap<u64, Call>,
}

/// A call.
struct Call {
    callable: Arc<Callable>,
    sizes: Vec<u64>,
    args: Vec<Passed>,
    results: Vec<Weak<Later>>,
    /// It has been run, and not all of its results were kept.
    is_again: bool,
}

/// An argument.
#[derive(Clone)]
enum Passed {
    Scalar(Scalar),
    Array(Ty, Buffer),
    Result(Promised),
}

impl<E: Engine> Waiting<E> {
    fn note(
        self: &Arc<Self>,
        callable: &Arc<Callable>,
        sizes: &[Option<u64>],
        args: &[Argument<'_>],
    ) -> Result<Vec<Output>, Error> {
        let engine = &self.engine;
        engine.alive()?;
        // What waits has been computed on this device when it is read.
        let here =
            |buffer: &Buffer| buffer.promise().is_some_and(|promise| promise.is_of(&**self)) || engine.holds(buffer);
        let (checked, bound) = callable.signature.check(sizes, args, here)?;
        let values: Option<Vec<u64>> = checked.values().iter().copied().collect();
        let Some(values) = values else { return Err(broken(callable, "its sizes are not known")) };
        let mut args = vec![];
        for (param, bound) in callable.signature.params.iter().zip(bound) {
            let ty = param.ty.elem();
            args.push(match bound {
                Bound::Scalar(scalar) => Passed::Scalar(scalar),
                Bound::Array(ArrayData::Buffer(buffer)) => Passed::Array(ty, buffer.clone()),
                Bound::Array(data @ ArrayData::Host(_)) => Passed::Array(ty, resident(engine, ty, data)?),
            });
        }
        if self.is_full(callable) {
            self.settle(None);
        }
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        // What others have asked for is there by now, and what is still a promise stays one while nobody else looks.
        for passed in &mut args {
            if let Passed::Array(_, buffer) = passed
                && let Some(promise) = buffer.promise()
            {
                *passed = Passed::Result(promise.number);
            }
        }
        let number = calls.next;
        calls.next += 1;
        let mut results = vec![];
        let mut outputs = vec![];
        let body = &callable.program.body;
        for (result, id) in body.results.iter().enumerate() {
            let mut vars = body.params.iter().chain(body.stmts.iter().flat_map(|stmt| &stmt.binds));
            let Some(var) = vars.find(|var| var.id == *id) else {
                return Err(broken(callable, "a result has no type"));
            };
            let (ty, shape) = (var.ty.elem(), checked.shape(var.ty.shape())?);
            let (_, bytes) = checked.extent(ty, var.ty.shape())?;
            let promise = Later::new(self.clone(), Promised { call: number, result }, engine.memory());
            let promise = Arc::new(promise);
            results.push(Arc::downgrade(&promise));
            outputs.push(Output { ty, shape, data: Buffer::later(promise, bytes) });
        }
        let call = Call { callable: callable.clone(), sizes: values, args, results, is_again: false };
        calls.list.insert(number, call);
        Ok(outputs)
    }

    fn is_full(&self, more: &Callable) -> bool {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let statements: usize = calls.list.values().map(|call| call.callable.statements).sum();
        calls.list.len() >= MOST_CALLS || statements + more.statements > MOST_STATEMENTS
    }
}

fn broken(callable: &Callable, why: &str) -> Error {
    Error::Plan { name: callable.program.name.clone(), why: why.to_string() }
}

impl<E: Engine> Settle for Waiting<E> {
    fn settle(&self, asked: Option<Promised>) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = asked.filter(|asked| calls.list.get(&asked.call).is_some_and(|call| !call.is_again));
        let wanted: BTreeSet<Promised> = match asked {
            Some(asked) => [asked].into(),
            None => calls.held().collect(),
        };
        let needed = calls.needed(wanted.iter().map(|wanted| wanted.call));
        // What other calls read is kept for them.
        let read = calls.read_by(|call| !needed.contains(&call)).filter(|read| needed.contains(&read.call));
        let wanted: BTreeSet<Promised> = read.chain(wanted).collect();
        let made = self.run(&calls, &needed, &wanted).map_err(Arc::new);
        for promised in &wanted {
            let result = match &made {
                Ok(made) => made.get(promised).cloned().ok_or_else(|| Arc::new(lost())),
                Err(error) => Err(error.clone()),
            };
            calls.keep(*promised, result);
        }
        match asked {
            Some(_) => calls.forget(&needed),
            // Nobody can ask for what is left.
            None => calls.list.clear(),
        }
    }
}

fn lost() -> Error {
    Error::Plan { name: "a call that waits".to_string(), why: "its program does not give its result".to_string() }
}

impl Calls {
    /// Results that somebody can still ask for.
    fn held(&self) -> impl Iterator<Item = Promised> {
        self.list.iter().flat_map(|(&call, noted)| {
            let held = |promise: &Weak<Later>| promise.upgrade().is_some_and(|promise| promise.waits());
            let results = noted.results.iter().enumerate().filter(move |(_, promise)| held(promise));
            results.map(move |(result, _)| Promised { call, result })
        })
    }

    /// The calls, and those whose results they need.
    fn needed(&self, calls: impl Iterator<Item = u64>) -> BTreeSet<u64> {
        let mut needed: BTreeSet<u64> = BTreeSet::new();
        let mut open: Vec<u64> = calls.collect();
        while let Some(number) = open.pop() {
            let Some(call) = self.list.get(&number) else { continue };
            if needed.insert(number) {
                open.extend(call.read().map(|read| read.call));
            }
        }
        needed
    }

    /// What some of the calls read of others.
    fn read_by(&self, which: impl Fn(u64) -> bool) -> impl Iterator<Item = Promised> {
        self.list.iter().filter(move |(number, _)| which(**number)).flat_map(|(_, call)| call.read())
    }

    /// Gives whoever holds a result, and the calls that read it, what it has become.
    fn keep(&mut self, promised: Promised, result: Result<Buffer, Arc<Error>>) {
        let Some(call) = self.list.get(&promised.call) else { return };
        let promise = call.results.get(promised.result).and_then(Weak::upgrade);
        if let Some(promise) = promise {
            promise.keep(result.clone());
        }
        // A call that reads what there is not fails by itself: it finds no such result.
        let Ok(buffer) = result else { return };
        for reader in self.list.values_mut() {
            for (param, passed) in reader.callable.program.body.params.iter().zip(&mut reader.args) {
                if matches!(passed, Passed::Result(read) if *read == promised) {
                    *passed = Passed::Array(param.ty.elem(), buffer.clone());
                }
            }
        }
    }

    /// Forgets calls that were run, but for those that give what somebody may ask for, and what these need.
    fn forget(&mut self, run: &BTreeSet<u64>) {
        let again: Vec<u64> = self.held().map(|held| held.call).filter(|call| run.contains(call)).collect();
        for number in &again {
            if let Some(call) = self.list.get_mut(number) {
                call.is_again = true;
            }
        }
        let still = self.needed(again.into_iter());
        self.list.retain(|number, _| !run.contains(number) || still.contains(number));
    }
}

impl Call {
    /// The results of others that it reads.
    fn read(&self) -> impl Iterator<Item = Promised> {
        self.args.iter().filter_map(|passed| match passed {
            Passed::Result(promised) => Some(*promised),
            Passed::Scalar(_) | Passed::Array(..) => None,
        })
    }
}

/// What has been computed.
type Made = HashMap<Promised, Buffer>;

impl<E: Engine> Waiting<E> {
    /// Runs calls, as few programs as they can be.
    fn run(&self, calls: &Calls, needed: &BTreeSet<u64>, wanted: &BTreeSet<Promised>) -> Result<Made, Error> {
        let mut left: Vec<(u64, &Call)> = vec![];
        for number in needed {
            left.extend(calls.list.get(number).map(|call| (*number, call)));
        }
        let mut made = Made::new();
        while !left.is_empty() {
            let mut count = left.len();
            let behind = |count: usize, left: &[(u64, &Call)]| -> BTreeSet<Promised> {
                let read = left[count..].iter().flat_map(|(_, call)| call.read());
                let here = |promised: &Promised| left[..count].iter().any(|(number, _)| *number == promised.call);
                read.chain(wanted.iter().copied()).filter(here).collect()
            };
            loop {
                let section = Section::of(&left[..count], behind(count, &left), &made)?;
                match self.run_section(&section, &mut made)? {
                    Ok(()) => break,
                    Err(_) if count == 1 => return Err(lost()),
                    Err(Cut(at)) => count = at.clamp(1, count - 1),
                }
            }
            left.drain(..count);
        }
        Ok(made)
    }

    /// Runs calls as one program, if they are one. A single call always is.
    fn run_section(&self, section: &Section<'_>, made: &mut Made) -> Result<Result<(), Cut>, Error> {
        let kept = kept::<E>();
        let mut cut = None;
        let key = section.key(&self.engine);
        let ready = kept.chains.get(key, || {
            let chain = section.chain().inspect_err(|at| cut = Some(*at)).map_err(|_| lost())?;
            let key = hash::of(&(self.engine.address(), hash::of(&chain.program)));
            let program = kept.programs.get(key, || {
                // SAFETY: positions are inside in each of the calls, which is what whoever noted them has promised.
                Ok(Arc::new(unsafe { Compiled::new(self.engine.clone(), &chain.program) }?))
            })?;
            Ok(Arc::new((chain, program)))
        });
        let ready = match (ready, cut) {
            (Err(_), Some(cut)) => return Ok(Err(cut)),
            (ready, _) => ready?,
        };
        let (chain, program) = &*ready;
        let sizes: Vec<Option<u64>> = chain.sizes.iter().copied().map(Some).collect();
        let mut args = vec![];
        for (outside, shape) in &chain.params {
            args.push(match section.outside.get(*outside) {
                Some(Passed::Scalar(scalar)) => Argument::Scalar(*scalar),
                Some(Passed::Array(ty, buffer)) => {
                    Argument::Array { ty: *ty, shape: Cow::Borrowed(shape), data: ArrayData::Buffer(buffer) }
                }
                Some(Passed::Result(_)) | None => return Err(lost()),
            });
        }
        let outputs = program.run_now(&sizes, &args, &mut [])?;
        made.extend(section.wanted.iter().copied().zip(outputs.into_iter().map(|output| output.data)));
        Ok(Ok(()))
    }
}

/// Calls that follow one another.
struct Section<'c> {
    calls: &'c [(u64, &'c Call)],
    /// Where their arguments come from.
    args: Vec<Vec<Source>>,
    /// What comes from outside.
    outside: Vec<Passed>,
    wanted: Vec<Promised>,
}

impl<'c> Section<'c> {
    fn of(calls: &'c [(u64, &'c Call)], wanted: BTreeSet<Promised>, made: &Made) -> Result<Section<'c>, Error> {
        let mut section = Section { calls, args: vec![], outside: vec![], wanted: wanted.into_iter().collect() };
        for (_, call) in calls {
            let mut args = vec![];
            for (param, passed) in call.callable.program.body.params.iter().zip(&call.args) {
                args.push(match passed {
                    Passed::Result(promised) => match section.given(*promised) {
                        Some(given) => Source::Result(given),
                        None => {
                            let buffer = made.get(promised).ok_or_else(lost)?;
                            section.outside(Passed::Array(param.ty.elem(), buffer.clone()))
                        }
                    },
                    passed => section.outside(passed.clone()),
                });
            }
            section.args.push(args);
        }
        Ok(section)
    }

    fn given(&self, promised: Promised) -> Option<Given> {
        let link = self.calls.iter().position(|(number, _)| *number == promised.call)?;
        Some(Given { link, number: promised.result })
    }

    /// What is passed twice is one argument.
    fn outside(&mut self, passed: Passed) -> Source {
        let same = |known: &Passed| match (known, &passed) {
            (Passed::Array(a, known), Passed::Array(b, buffer)) => {
                a == b && known.len() == buffer.len() && known.shares(buffer)
            }
            _ => false,
        };
        let place = self.outside.iter().position(same).unwrap_or_else(|| {
            self.outside.push(passed);
            self.outside.len() - 1
        });
        Source::Outside(place)
    }

    /// What distinguishes two sections.
    fn key<E: Engine>(&self, engine: &E) -> [u8; 32] {
        let calls: Vec<_> = self.calls.iter().map(|(_, call)| (call.callable.hash, &call.sizes)).collect();
        let wanted: Vec<_> = self.wanted.iter().map(|wanted| self.given(*wanted)).collect();
        let types: Vec<_> = self.outside.iter().map(Passed::ty).collect();
        hash::of(&(engine.address(), calls, &self.args, types, wanted))
    }

    fn chain(&self) -> Result<Chain, Cut> {
        if let [(_, call)] = self.calls {
            return self.alone(call).ok_or(Cut(0));
        }
        let wanted: Option<Vec<Given>> = self.wanted.iter().map(|wanted| self.given(*wanted)).collect();
        let link = |((_, call), args): (&(u64, &'c Call), &Vec<Source>)| Link {
            program: &call.callable.program,
            sizes: &call.sizes,
            args: args.clone(),
        };
        let links: Vec<Link<'_>> = self.calls.iter().zip(&self.args).map(link).collect();
        chain(&links, &wanted.ok_or(Cut(0))?)
    }
}

impl Section<'_> {
    /// The chain of one call: its program.
    fn alone(&self, call: &Call) -> Option<Chain> {
        let mut program = call.callable.program.clone();
        let wanted = self.wanted.iter().map(|wanted| program.body.results.get(wanted.result).copied());
        let results = wanted.collect::<Option<_>>()?;
        program.body.results = results;
        let value = |SizeVar(var): SizeVar| call.sizes.get(var as usize).copied();
        let mut params = vec![];
        for (param, source) in program.body.params.iter().zip(self.args.first()?) {
            let Source::Outside(outside) = source else { return None };
            let shape = param.ty.shape().iter().map(|size| size.eval(&value).ok()).collect::<Option<_>>()?;
            params.push((*outside, shape));
        }
        Some(Chain { program, sizes: call.sizes.clone(), params })
    }
}

impl Passed {
    fn ty(&self) -> Option<Ty> {
        match self {
            Passed::Scalar(scalar) => Some(scalar.ty),
            Passed::Array(ty, _) => Some(*ty),
            Passed::Result(_) => None,
        }
    }
}

/// What is kept of chains that were run.
struct KeptChains<E: Engine> {
    chains: Memo<(Chain, Arc<Compiled<E>>)>,
    programs: Memo<Compiled<E>>,
}

/// Of all devices of a kind; keys tell them apart.
fn kept<E: Engine>() -> Arc<KeptChains<E>> {
    static KINDS: OnceLock<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>> = OnceLock::new();
    let mut kinds = KINDS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let make = || KeptChains::<E> { chains: Memo::new(KEPT), programs: Memo::new(KEPT) };
    let kind = kinds.entry(TypeId::of::<E>()).or_insert_with(|| Arc::new(make())).clone();
    drop(kinds);
    kind.downcast().unwrap_or_else(|_| Arc::new(make()))
}
