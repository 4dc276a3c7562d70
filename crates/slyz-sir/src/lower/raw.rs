//! Launches of kernels that people wrote in the language of a device.

use super::planning::{Home, Lowering};
use super::turns::Strategy;
use crate::code::{Body, Id, Op, RawCall, Stmt, Type, Var};
use crate::kernel::{Access, BufferId, BufferUse, Kernel, Memory, ScalarArg, Space};
use crate::names::Names;
use crate::raw::{Language, RawCode};
use crate::size::Size;
use crate::types::Ty;

/// Plans the launch of a raw kernel: its arrays, results and scalars in the order in which its source takes them.
pub(super) fn plan<'g>(strategy: &mut impl Strategy<'g>, stmt: &'g Stmt, call: &'g RawCall) {
    let Some(source) = call.kernel.sources.first() else {
        unreachable!("the verifier lets none without a source and a meaning pass, and what has a meaning is that")
    };
    let outputs = strategy.base().outputs(stmt);
    let is_array = |base: &Lowering, id: Id| !base.type_of(id).shape().is_empty();
    let (arrays, scalars): (Vec<Id>, Vec<Id>) = call.args.iter().partition(|&&id| is_array(strategy.base(), id));
    let passed: Vec<ScalarArg> = scalars.iter().map(|&id| scalar(strategy, id)).collect();
    let base = strategy.base();
    let mut memories = vec![];
    let mut buffers = vec![];
    for (k, &id) in arrays.iter().enumerate() {
        let buffer = base.buffers[&id];
        let Type::Array(ty, shape) = base.type_of(id) else { continue };
        memories.push(Memory { name: format!("array{k}"), ty, space: Space::Global(Access::Read), shape });
        buffers.push(buffer);
    }
    for (k, ((buffer, shape), (ty, _))) in outputs.into_iter().zip(&call.results).enumerate() {
        memories.push(Memory { name: format!("result{k}"), ty: *ty, space: Space::Global(Access::Write), shape });
        buffers.push(buffer);
    }
    let params = scalars.iter().map(|&id| base.type_of(id)).enumerate();
    let params = params.map(|(k, ty)| Var { id: Id(k as u32), ty }).collect();
    let (grid, block) = grid(call, source.language);
    let name = base.kernel_name(&call.kernel.name);
    let kernel = Kernel {
        name,
        sizes: base.program.sizes.clone(),
        memories,
        functions: vec![],
        grid,
        block,
        precision: base.program.precision,
        product: None,
        raw: Some(RawCode { source: source.clone(), extents: call.extents.clone() }),
        as_written: false,
        names: Names::default(),
        body: Body { params, stmts: vec![], results: vec![] },
    };
    base.launch((kernel, buffers, passed));
}

/// Blocks, and threads of a block. Cores take threads one by one, in ranges.
fn grid(call: &RawCall, language: Language) -> ([Size; 3], [u32; 3]) {
    let one = || Size::Const(1);
    if language == Language::C {
        return ([Size::product(&call.threads), one(), one()], [1; 3]);
    }
    let block = call.kernel.block;
    let blocks = std::array::from_fn(|d| match call.threads.get(d) {
        Some(threads) => Size::CeilDiv(threads.clone().into(), u64::from(block[d])),
        None => one(),
    });
    (blocks, block)
}

/// A scalar as the host passes it: what it does not know before is computed first, and read.
fn scalar<'g>(strategy: &mut impl Strategy<'g>, id: Id) -> ScalarArg {
    let base = strategy.base();
    match base.home(id) {
        Home::Scalar(place, _) => return ScalarArg::Argument(place),
        Home::Kept(buffer, _) => return ScalarArg::Read(buffer),
        Home::Again(Stmt { op: Op::Const(value), .. }) => return ScalarArg::Const(*value),
        Home::Counter(counter) if counter.ty == Ty::I64 && counter.from.is_none() => {
            return ScalarArg::Turn(counter.depth);
        }
        Home::Again(_) | Home::Counter(_) => {}
        Home::Array(..) => unreachable!("arrays are not asked for here"),
    }
    let ty = base.type_of(id).elem();
    let buffer: BufferId = base.buffer(ty, vec![], BufferUse::Temporary);
    strategy.store_scalars(&[buffer], &|w| vec![w.scalar(id)]);
    ScalarArg::Read(buffer)
}
