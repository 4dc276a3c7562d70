//! What threads do together: atomics, subgroup operations, barriers and fences.

use super::body::Body;
use super::call::plural;
use super::draft::{Class, Draft};
use super::expr::Element;
use super::scope::Origin;
use super::settle::Why;
use super::{rules, suggest};
use crate::diagnostic::Diagnostic;
use crate::syntax::{Expr, ExprKind, Name};
use crate::typed::{self, Stmt};
use slyz_sir::code::{AtomicOp, Scope, SubgroupOp};
use slyz_sir::ops::Operator;
use slyz_sir::types::Ty;

const ATOMICS: [(&str, AtomicOp); 10] = [
    ("add", AtomicOp::Update(Operator::Add)),
    ("min", AtomicOp::Update(Operator::Min)),
    ("max", AtomicOp::Update(Operator::Max)),
    ("and", AtomicOp::Update(Operator::And)),
    ("or", AtomicOp::Update(Operator::Or)),
    ("xor", AtomicOp::Update(Operator::Xor)),
    ("exchange", AtomicOp::Exchange),
    ("compare_exchange", AtomicOp::CompareExchange),
    ("load", AtomicOp::Load),
    ("store", AtomicOp::Store),
];

const SUBGROUPS: [(&str, SubgroupOp); 22] = [
    ("add", SubgroupOp::Reduce(Operator::Add)),
    ("mul", SubgroupOp::Reduce(Operator::Mul)),
    ("min", SubgroupOp::Reduce(Operator::Min)),
    ("max", SubgroupOp::Reduce(Operator::Max)),
    ("and", SubgroupOp::Reduce(Operator::And)),
    ("or", SubgroupOp::Reduce(Operator::Or)),
    ("xor", SubgroupOp::Reduce(Operator::Xor)),
    ("scan_add", SubgroupOp::Scan(Operator::Add)),
    ("scan_mul", SubgroupOp::Scan(Operator::Mul)),
    ("scan_min", SubgroupOp::Scan(Operator::Min)),
    ("scan_max", SubgroupOp::Scan(Operator::Max)),
    ("scan_and", SubgroupOp::Scan(Operator::And)),
    ("scan_or", SubgroupOp::Scan(Operator::Or)),
    ("scan_xor", SubgroupOp::Scan(Operator::Xor)),
    ("shuffle", SubgroupOp::Shuffle),
    ("shuffle_xor", SubgroupOp::ShuffleXor),
    ("shuffle_up", SubgroupOp::ShuffleUp),
    ("shuffle_down", SubgroupOp::ShuffleDown),
    ("broadcast", SubgroupOp::Broadcast),
    ("ballot", SubgroupOp::Ballot),
    ("any", SubgroupOp::Any),
    ("all", SubgroupOp::All),
];

fn no_such(space: &str, name: &Name, known: &[&str]) -> Diagnostic {
    let message = format!("there is no `{space}.{}`", name.text);
    let meant = match &name.text[..] {
        "sub" | "subtract" => {
            return Diagnostic::error(rules::METHOD, name.span, message).help("add the negative value");
        }
        "sum" | "reduce" | "fetch_add" | "inc" => Some("add"),
        "cas" | "compare_and_swap" | "swap" => Some("compare_exchange"),
        "sync" | "wait" | "syncthreads" => Some("barrier"),
        _ => None,
    };
    let meant = meant.filter(|m| known.contains(m));
    let help = match meant.or_else(|| suggest::nearest(&name.text, known.iter().copied())) {
        Some(near) => format!("did you mean `{space}.{near}`?"),
        None => format!("there are {}", known.join(", ")),
    };
    Diagnostic::error(rules::METHOD, name.span, message).help(help)
}

impl<'a> Body<'_, 'a> {
    /// `atomic.add(x[i], v)`.
    pub(super) fn atomic(&mut self, name: &'a Name, args: &'a [Expr], expr: &'a Expr) -> Draft<'a> {
        let Some(&(_, op)) = ATOMICS.iter().find(|a| a.0 == name.text) else {
            let diagnostic = no_such("atomic", name, &ATOMICS.map(|a| a.0));
            return self.refuse(expr, diagnostic);
        };
        let wanted = match op {
            // The list has no claims: they tell faults.
            AtomicOp::Load | AtomicOp::Claim => 1,
            AtomicOp::Update(_) | AtomicOp::Exchange | AtomicOp::Store => 2,
            AtomicOp::CompareExchange => 3,
        };
        if args.len() != wanted {
            let message = format!("`atomic.{}` takes {}, found {}", name.text, plural(wanted, "argument"), args.len());
            let list = ["x[i]", "expected", "new"];
            let list = if wanted == 2 { "x[i], value".into() } else { list[..wanted].join(", ") };
            let help = format!("write `atomic.{}({list})`", name.text);
            return self.refuse(expr, Diagnostic::error(rules::COUNT, name.span, message).help(help));
        }
        let Some(element) = self.atomic_element(&args[0]) else { return Draft::wrong(expr) };
        let Element { memory, index } = element;
        if let AtomicOp::Update(operator) = op
            && operator.result(&[memory.elem, memory.elem]).is_none()
        {
            let message = format!("there is no atomic `{}` on {}", operator.name(), memory.elem);
            let help = "f32 has `add`, `min`, `max`, `exchange` and `compare_exchange`; the others want i32 or u32";
            return self.refuse(expr, Diagnostic::error(rules::ATOMIC, name.span, message).help(help));
        }
        let values = args[1..]
            .iter()
            .map(|value| {
                let draft = self.infer(value);
                self.settle(draft, memory.elem, Why::Element(&memory.name, memory.span))
            })
            .collect();
        let kind = typed::ExprKind::Atomic { op, memory: memory.memory, index, args: values };
        Draft::done(memory.elem, kind, expr)
    }

    fn atomic_element(&mut self, target: &'a Expr) -> Option<Element> {
        let target = if let ExprKind::Borrow(_, inner) = &target.kind { inner } else { target };
        if !matches!(target.kind, ExprKind::Index(..)) {
            if !self.is_wrong_name(target) {
                let message = "an atomic works on an element of a tensor or of a threadgroup array";
                let help = "write it as in `atomic.add(x[i], 1)`";
                self.say(Diagnostic::error(rules::ATOMIC, target.span, message).help(help));
            }
            self.marks.broken = true;
            return None;
        }
        let element = self.element(target)?;
        let memory = &element.memory;
        let name = &memory.name;
        let diagnostic = match memory.origin {
            Origin::Thread => {
                let message = format!("`{name}` belongs to one thread, so there is nobody to be atomic against");
                Diagnostic::error(rules::ATOMIC, target.span, message)
                    .help("write the element like any other, or put the array into threadgroup memory")
            }
            Origin::Tensor { .. } | Origin::Threadgroup | Origin::Constant if !memory.mutable => {
                let message = format!("atomics write, but `{name}` is read-only");
                Diagnostic::error(rules::READ_ONLY, target.span, message).help(self.mutable_memory(memory))
            }
            Origin::Tensor { .. } | Origin::Threadgroup | Origin::Constant
                if !matches!(memory.elem, Ty::I32 | Ty::U32 | Ty::I64 | Ty::U64 | Ty::F32) =>
            {
                let message = format!("there are no atomics on {} that work on every device", memory.elem);
                let help = if memory.elem.is_float() {
                    format!(
                        "keep fixed-point numbers in an i32 or u32 tensor; or keep the bits in a u32 tensor and replace them by \
                         `atomic.compare_exchange` with `{}`",
                        self.dialect.bitcast(Ty::U32)
                    )
                } else {
                    "use elements of i32 or u32".into()
                };
                Diagnostic::error(rules::ATOMIC, target.span, message).help(help)
            }
            Origin::Tensor { .. } | Origin::Threadgroup | Origin::Constant => return Some(element),
        };
        let diagnostic = diagnostic.related(memory.span, "declared here");
        self.say(diagnostic);
        None
    }

    /// `subgroup.add(v)` and its like.
    pub(super) fn subgroup(&mut self, name: &'a Name, args: &'a [Expr], expr: &'a Expr) -> Draft<'a> {
        let place = match &name.text[..] {
            "lane" => Some(slyz_sir::code::Place::Lane),
            "size" => Some(slyz_sir::code::Place::SubgroupSize),
            _ => None,
        };
        if let (Some(place), []) = (place, args) {
            return Draft::done(Ty::I64, typed::ExprKind::Place(place, 0), expr);
        }
        let Some(&(_, op)) = SUBGROUPS.iter().find(|s| s.0 == name.text) else {
            let diagnostic = no_such("subgroup", name, &SUBGROUPS.map(|s| s.0));
            return self.refuse(expr, diagnostic);
        };
        let moves = matches!(
            op,
            SubgroupOp::Shuffle | SubgroupOp::ShuffleXor | SubgroupOp::ShuffleUp | SubgroupOp::ShuffleDown
        );
        let wanted = 1 + usize::from(moves);
        if args.len() != wanted {
            let message =
                format!("`subgroup.{}` takes {}, found {}", name.text, plural(wanted, "argument"), args.len());
            let help = format!("write `subgroup.{}({})`", name.text, if moves { "value, lane" } else { "value" });
            return self.refuse(expr, Diagnostic::error(rules::COUNT, name.span, message).help(help));
        }
        let draft = self.infer(&args[0]);
        if draft.class == Class::Wrong {
            return Draft::wrong(expr);
        }
        let votes = matches!(op, SubgroupOp::Ballot | SubgroupOp::Any | SubgroupOp::All);
        if votes {
            let value = self.settle(draft, Ty::Bool, Why::Operand(&name.text));
            let ty = if op == SubgroupOp::Ballot { Ty::U64 } else { Ty::Bool };
            return Draft::done(ty, typed::ExprKind::Subgroup(op, vec![value]), expr);
        }
        let ty = draft.class.natural();
        if let SubgroupOp::Reduce(operator) | SubgroupOp::Scan(operator) = op
            && operator.result(&[ty, ty]).is_none()
        {
            let message = format!("`subgroup.{}` is not defined on {ty}", name.text);
            let help = match (ty, operator) {
                (Ty::Bool, _) => "use `subgroup.any`, `subgroup.all` or `subgroup.ballot`, or convert it with `as i32`",
                (_, Operator::And | Operator::Or | Operator::Xor) => {
                    "it works on integers and bool; convert it with `as i32`"
                }
                _ => "convert the value first",
            };
            return self.refuse(expr, Diagnostic::error(rules::SUBGROUP_TYPE, args[0].span, message).help(help));
        }
        let mut values = vec![self.settle_naturally(draft)];
        if let Some(lane) = args.get(1) {
            let lane = self.infer(lane);
            values.push(self.settle(lane, Ty::I64, Why::Lane));
        }
        Draft::done(ty, typed::ExprKind::Subgroup(op, values), expr)
    }

    /// `threadgroup.barrier()`, `device.fence()`, if it is one of those.
    pub(super) fn meeting(&mut self, receiver: &'a Expr, name: &'a Name, args: &[Expr]) -> Option<Vec<Stmt>> {
        let ExprKind::Name(space) = &receiver.kind else { return None };
        if !self.is_free(space) {
            return None;
        }
        let stmt = match (&space[..], &name.text[..]) {
            ("threadgroup", "barrier") => Stmt::Barrier(Scope::Block),
            ("subgroup", "barrier") => Stmt::Barrier(Scope::Subgroup),
            ("threadgroup", "fence") => Stmt::Fence(Scope::Block),
            ("subgroup", "fence") => Stmt::Fence(Scope::Subgroup),
            ("device", "fence") => Stmt::Fence(Scope::Device),
            ("device", "barrier") => {
                let message = "threads of different blocks cannot wait for each other";
                let help = "end the kernel there, and launch another one for what comes after";
                self.say(Diagnostic::error(rules::METHOD, name.span, message).help(help));
                return Some(vec![]);
            }
            ("threadgroup", _) => {
                self.say(no_such("threadgroup", name, &["barrier", "fence"]));
                return Some(vec![]);
            }
            ("device", _) => {
                self.say(no_such("device", name, &["fence"]));
                return Some(vec![]);
            }
            _ => return None,
        };
        if !args.is_empty() {
            let message = format!("`{space}.{}` takes no arguments", name.text);
            let help = format!("write `{space}.{}()`", name.text);
            self.say(Diagnostic::error(rules::COUNT, name.span, message).help(help));
        }
        if matches!(stmt, Stmt::Barrier(_)) {
            self.marks.barriers.push(receiver.span.to(name.span));
        }
        Some(vec![stmt])
    }
}
