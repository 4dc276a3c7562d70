//! Loads, stores, atomics, and what subgroups do.

use super::expr::{ATOM, Expr};
use super::writer::Writer;
use super::{EmitError, PlaceName};
use crate::code::{AtomicOp, Id, MemId, SubgroupOp};
use crate::kernel::{Access, Space};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};

impl Writer<'_> {
    /// Memories of a thread.
    pub fn local_memories(&mut self) -> Result<(), EmitError> {
        for memory in &self.kernel.memories {
            if memory.space != Space::Local {
                continue;
            }
            let (ty, name) = (self.ops().ty(memory.ty)?, self.fresh(&memory.name));
            let elements = Size::product(&memory.shape).constant().unwrap_or(1).max(1);
            let axes = if memory.shape.is_empty() { String::new() } else { format!("[{elements}]") };
            self.line(format!("{ty} {name}{axes};"));
            self.locals.push((memory.name.clone(), name));
        }
        Ok(())
    }

    fn memory_name(&self, memory: MemId) -> String {
        let d = self.description;
        let buffers = d.buffers.iter().map(|b| (b.memory, &b.name));
        let named = buffers.chain(d.shared.iter().map(|s| (s.memory, &s.name))).find(|(m, _)| *m == memory);
        let declared = &self.kernel.memories[memory.0 as usize].name;
        let local = || self.locals.iter().find(|(known, _)| known == declared).map(|(_, name)| name.clone());
        named.map(|(_, name)| name.clone()).or_else(local).unwrap_or_else(|| declared.clone())
    }

    /// The number of an element. Positions are inside, so a sum that fits its type in the end is right whatever its
    /// parts do: 32 bits are enough for memories of up to 2^32 elements.
    pub fn flat(&mut self, memory: MemId, index: &[Id]) -> Result<Expr, EmitError> {
        let shape = self.kernel.memories[memory.0 as usize].shape.clone();
        // A memory that is bound has at most so many positions as an array may have.
        let total = Size::product(&shape).constant();
        let narrow = total.unwrap_or(self.dialect.machine().max_positions) <= 1 << 32;
        let rep = if narrow { Ty::U32 } else { Ty::I64 };
        let mut sum: Option<Expr> = None;
        for (d, &id) in index.iter().enumerate() {
            let mut at = self.get(id);
            if at.rep == Ty::U64 {
                at = self.ops().to(&at, Ty::I64)?;
            }
            if at.literal.is_some() {
                at = self.ops().to(&at, rep)?;
            }
            let stride = Size::product(&shape[d + 1..]);
            let term = match (at.literal, stride.constant()) {
                (Some(n), _) if n.as_int() == 0 && index.len() > 1 => continue,
                (_, Some(1)) => at,
                (Some(n), Some(stride)) => {
                    let product = n.as_int().saturating_mul(stride.into());
                    self.ops().literal(Scalar::from_int(rep, product))
                }
                (_, Some(stride)) => {
                    let stride = self.ops().literal(Scalar::from_int(rep, stride.into()));
                    self.ops().times(&at, &stride)
                }
                (_, None) => {
                    let stride = self.stride(&stride, rep)?;
                    self.ops().times(&at, &stride)
                }
            };
            sum = Some(match sum {
                None => term,
                Some(sum) => self.ops().plus(&sum, &term),
            });
        }
        let zero = self.ops().literal(Scalar::from_int(rep, 0));
        let sum = sum.unwrap_or(zero);
        let plain = index.len() <= 1;
        if let Some(number) = sum.literal.and_then(|n| i32::try_from(n.as_int()).ok()) {
            return Ok(Expr { literal: None, ..self.ops().literal(Scalar::from_int(Ty::I32, number.into())) });
        }
        Ok(Expr { rep: if plain { sum.rep } else { rep }, literal: None, ..sum })
    }

    /// A product of extents, modulo the width of the type that positions are computed in.
    fn stride(&mut self, size: &Size, rep: Ty) -> Result<Expr, EmitError> {
        let value = match size {
            Size::Mul(a, b) => {
                let (a, b) = (self.stride(a, rep)?, self.stride(b, rep)?);
                return Ok(self.ops().times(&a, &b));
            }
            size => self.size(size)?,
        };
        self.ops().to(&value, rep)
    }

    /// The text of an element, `offset` past the index.
    fn element(&mut self, memory: MemId, flat: &Expr, offset: u64) -> String {
        let declared = &self.kernel.memories[memory.0 as usize];
        let name = self.memory_name(memory);
        match (declared.space, offset) {
            (Space::Local, 0) if declared.shape.is_empty() => name,
            (_, 0) => format!("{name}[{}]", flat.text),
            (_, offset) => {
                let offset = self.ops().literal(Scalar::from_int(flat.rep, offset.into()));
                format!("{name}[{}]", self.ops().plus(flat, &offset).text)
            }
        }
    }

    /// The number of an element, with the names that positions of threads have.
    fn position(&mut self, memory: MemId, index: &[Id], load: bool) -> Result<Expr, EmitError> {
        let shape = &self.kernel.memories[memory.0 as usize].shape;
        if let Some((own, own_shape)) = self.own.clone() {
            let is_own = self.is_own(index) && *shape == own_shape;
            if is_own && !(load && self.spell_own) {
                index.iter().for_each(|&i| drop(self.get(i)));
                return Ok(own);
            }
            let other = load && !is_own && index.iter().all(|i| self.places.contains_key(i));
            if let Some(name) = self.swapped.take_if(|_| other) {
                let flat = self.flat(memory, index)?;
                self.declare_as(&name, flat.rep, &flat)?;
                return Ok(Expr::atom(name, flat.rep));
            }
        }
        self.flat(memory, index)
    }

    pub fn load(&mut self, ids: &[Id], memory: MemId, index: &[Id]) -> Result<(), EmitError> {
        let declared = &self.kernel.memories[memory.0 as usize];
        let (ty, reads) = match declared.space {
            Space::Global(Access::Read) | Space::Constant => (declared.ty, false),
            Space::Global(_) | Space::Shared | Space::Scratch | Space::Local => (declared.ty, true),
        };
        let flat = self.several(ids.len(), memory, index, true)?;
        for (k, &id) in ids.iter().enumerate() {
            let text = self.element(memory, &flat, k as u64);
            self.bind(id, Expr { text, prec: ATOM, rep: ty, literal: None, reads }, "x")?;
        }
        Ok(())
    }

    /// A position that may be written `count` times.
    fn several(&mut self, count: usize, memory: MemId, index: &[Id], load: bool) -> Result<Expr, EmitError> {
        let flat = self.position(memory, index, load)?;
        if count == 1 || flat.prec == ATOM {
            return Ok(flat);
        }
        let name = self.fresh("at");
        self.declare_as(&name, flat.rep, &flat)?;
        Ok(Expr::atom(name, flat.rep))
    }

    pub fn store(&mut self, memory: MemId, index: &[Id], values: &[Id]) -> Result<(), EmitError> {
        let ty = self.kernel.memories[memory.0 as usize].ty;
        let flat = self.several(values.len(), memory, index, false)?;
        let mut texts = vec![];
        for &value in values {
            let value = self.get(value);
            texts.push(self.ops().assigned(&value, ty)?);
        }
        self.settle()?;
        for (k, text) in texts.into_iter().enumerate() {
            let element = self.element(memory, &flat, k as u64);
            self.line(format!("{element} = {text};"));
        }
        Ok(())
    }

    pub fn atomic(
        &mut self,
        id: Option<Id>,
        op: AtomicOp,
        memory: MemId,
        index: &[Id],
        args: &[Id],
    ) -> Result<(), EmitError> {
        let declared = &self.kernel.memories[memory.0 as usize];
        let (ty, space) = (declared.ty, declared.space);
        let flat = self.flat(memory, index)?;
        let mut values = vec![];
        for arg in args {
            let value = self.get(*arg);
            values.push(self.ops().to(&value, ty)?.text);
        }
        self.settle()?;
        let element = self.element(memory, &flat, 0);
        let text = self.atomic_text(op, space, ty, &element, &values)?;
        match id.filter(|&id| self.is_used(id)) {
            Some(id) => self.name_now(id, Expr::atom(text, ty), "old"),
            None => {
                self.line(format!("{text};"));
                Ok(())
            }
        }
    }

    fn atomic_text(
        &mut self,
        op: AtomicOp,
        space: Space,
        ty: Ty,
        element: &str,
        args: &[String],
    ) -> Result<String, EmitError> {
        let name = match op {
            AtomicOp::Update(operator) => format!("fetch_{}", operator.name()),
            // It gives the old value, as an exchange does.
            AtomicOp::Exchange | AtomicOp::Store => "exchange".into(),
            AtomicOp::CompareExchange => "compare_exchange".into(),
            AtomicOp::Load => "load".into(),
        };
        let dialect = self.dialect;
        if dialect.has_atomic(op, ty) {
            return Ok(match (op, args) {
                (AtomicOp::CompareExchange, [expected, value]) => {
                    dialect.compare_exchange(space, ty, element, [expected, value], self.helpers)
                }
                _ => dialect.atomic(&name, space, ty, element, args.first().map(|a| &a[..])),
            });
        }
        // A float is exchanged by its bits, and updated by exchanging it until nobody was in between.
        let exchanges = ty == Ty::F32 && dialect.has_atomic(AtomicOp::CompareExchange, Ty::U32);
        match op {
            AtomicOp::Update(operator) if exchanges => {
                let call = self.float_update(operator, space)?;
                let pointer = format!("({} {}*)&{element}", dialect.space(space), self.ops().ty(Ty::U32)?);
                Ok(format!("{call}({pointer}, {})", args[0]))
            }
            _ if exchanges => {
                let (uint, float) = (self.ops().ty(Ty::U32)?, self.ops().ty(Ty::F32)?);
                let bits: Vec<String> = args.iter().map(|a| dialect.bits(uint, a)).collect();
                Ok(dialect.bits(float, &self.atomic_text(op, space, Ty::U32, element, &bits)?))
            }
            _ => {
                let (kernel, language) = (self.kernel.name.clone(), dialect.language());
                Err(EmitError::Atomic { kernel, language, what: name.replace("fetch_", ""), ty })
            }
        }
    }

    /// A function that combines a float into memory.
    fn float_update(&mut self, operator: Operator, space: Space) -> Result<String, EmitError> {
        let (uint, float, qualifier) = (self.ops().ty(Ty::U32)?, self.ops().ty(Ty::F32)?, self.dialect.space(space));
        let (old, x) = (Expr::atom("old", Ty::F32), Expr::atom("x", Ty::F32));
        let next = self.ops().apply(operator, &[old, x], Ty::F32, &[])?.text;
        let seen = self.atomic_text(AtomicOp::Load, space, Ty::U32, "at[0]", &[])?;
        let swapped = self.dialect.compare_exchange(space, Ty::U32, "at[0]", ["seen", "next"], self.helpers);
        let (as_float, as_bits) = (self.dialect.bits(float, "seen"), self.dialect.bits(uint, &next));
        let name = format!("atomic_{}_f32_{qualifier}", operator.name());
        Ok(self.helpers.add(&name, || {
            format!(
                "inline {float} {name}({qualifier} {uint}* at, {float} x) {{
    {uint} seen = {seen};
    while (true) {{
        {float} old = {as_float};
        {uint} next = {as_bits};
        {uint} now = {swapped};
        if (now == seen) return old;
        seen = now;
    }}
}}
"
            )
        }))
    }

    pub fn subgroup(&mut self, id: Id, op: SubgroupOp, args: &[Id]) -> Result<(), EmitError> {
        let ty = self.types[&args[0]];
        let value = self.get(args[0]);
        let mut texts = vec![self.ops().to(&value, ty)?.text];
        for &lane in &args[1..] {
            let lane = self.get(lane);
            texts.push(self.ops().to(&lane, Ty::U16)?.text);
        }
        self.settle()?;
        let text = self.subgroup_text(op, ty, &texts)?;
        let (rep, stem) = (self.types[&id], stem(op));
        if op == SubgroupOp::ShuffleDown && self.description.last_subgroup_is_partial {
            return self.shuffle_inside(id, text, ty, &texts);
        }
        if self.is_used(id) {
            self.name_now(id, Expr::atom(text, rep), stem)
        } else {
            self.line(format!("{text};"));
            Ok(())
        }
    }

    /// A shuffle from further up, in a block whose last subgroup is partial: lanes keep their own value where the other
    /// is not there. All lanes take part before any chooses.
    fn shuffle_inside(&mut self, id: Id, text: String, ty: Ty, args: &[String]) -> Result<(), EmitError> {
        let (rank, [x, y, z]) = (self.description.rank, self.description.block);
        let place = |d: u8| self.dialect.place(PlaceName::Local, d, rank);
        let thread = match rank {
            1 => place(0),
            2 => format!("{} + {x}u * {}", place(0), place(1)),
            _ => format!("{} + {x}u * ({} + {y}u * {})", place(0), place(1), place(2)),
        };
        let other = self.fresh("other");
        self.declare_as(&other, ty, &Expr::atom(text, ty))?;
        let chosen = format!("({thread} + {} < {}u ? {other} : {})", args[1], x * y * z, args[0]);
        self.name_now(id, Expr::atom(chosen, ty), "other")
    }

    fn subgroup_text(&mut self, op: SubgroupOp, ty: Ty, args: &[String]) -> Result<String, EmitError> {
        let dialect = self.dialect;
        let op = match (op, ty) {
            (SubgroupOp::Reduce(Operator::And), Ty::Bool) => SubgroupOp::All,
            (SubgroupOp::Reduce(Operator::Or), Ty::Bool) => SubgroupOp::Any,
            (op, _) => op,
        };
        if let Some(name) = dialect.together(op, ty) {
            let votes = if op == SubgroupOp::Ballot { format!("({})", self.ops().ty(Ty::U64)?) } else { String::new() };
            return Ok(format!("{votes}{name}({})", args.join(", ")));
        }
        if matches!(op, SubgroupOp::Reduce(_) | SubgroupOp::Scan(_)) {
            return Ok(format!("{}({})", self.lane_loop(op, ty)?, args[0]));
        }
        // As something that lanes do exchange.
        let (own, short) = (self.ops().ty(ty)?, self.ops().ty(Ty::U16)?);
        let name = dialect.together(op, Ty::U32).unwrap_or_default();
        let call = |x: String| [&[x][..], &args[1..]].concat().join(", ");
        Ok(match ty.bits() {
            1 => format!("({own}){name}({})", call(format!("({short})({})", args[0]))),
            64 => dialect.bits(own, &format!("{name}({})", call(dialect.bits(dialect.pair(), &args[0])))),
            _ => dialect.bits(own, &format!("{name}({})", call(dialect.bits(short, &args[0])))),
        })
    }

    /// A function that goes through the active lanes one by one, for what the language has no word for.
    fn lane_loop(&mut self, op: SubgroupOp, ty: Ty) -> Result<String, EmitError> {
        let (operator, scan) = match op {
            SubgroupOp::Scan(operator) => (operator, true),
            SubgroupOp::Reduce(operator) => (operator, false),
            _ => return Ok(format!("unknown_{op:?}")),
        };
        let t = self.ops().ty(ty)?;
        let shuffled = self.subgroup_text(SubgroupOp::Shuffle, ty, &["x".into(), "lane".into()])?;
        let (total, other) = (Expr::atom("total", ty), Expr::atom("other", ty));
        let range = crate::ranges::Range::FULL;
        let both = self.ops().apply(operator, &[total, other], ty, &[range, range])?;
        let both = self.ops().to(&both, ty)?.text;
        let name = format!("subgroup_{}_{}_{ty}", if scan { "scan" } else { "reduce" }, operator.name());
        let (long, active, below) = (self.ops().ty(Ty::U64)?, self.dialect.active_lanes(), self.dialect.lanes_below());
        let head = if scan { format!("    uint own = {below};\n") } else { String::new() };
        let stop = if scan { "seen <= own" } else { "true" };
        Ok(self.helpers.add(&name, || {
            format!(
                "inline {t} {name}({t} x) {{
    {long} active = {active};
{head}    {t} total = x;
    uint seen = 0;
    for (ushort lane = 0; lane < 64; ++lane) {{
        if (((active >> lane) & 1) == 0) continue;
        {t} other = {shuffled};
        if (seen == 0) total = other;
        else if ({stop}) total = {both};
        ++seen;
    }}
    return total;
}}
"
            )
        }))
    }
}

/// What the result of a subgroup operation is called.
fn stem(op: SubgroupOp) -> &'static str {
    match op {
        SubgroupOp::Reduce(_) => "total",
        SubgroupOp::Scan(_) => "prefix",
        SubgroupOp::Shuffle | SubgroupOp::ShuffleXor | SubgroupOp::ShuffleUp | SubgroupOp::ShuffleDown => "other",
        SubgroupOp::Broadcast => "first",
        SubgroupOp::Ballot | SubgroupOp::Any | SubgroupOp::All => "votes",
    }
}
