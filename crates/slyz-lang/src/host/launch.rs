//! Launches: what is passed fits the kernel, or says where it does not.

use super::call::wrong_count;
use super::eval::axes;
use super::tensor::failed;
use super::value::{Tensor, Value};
use super::{Argument, Host, Kernel, Launch, Machine, Outcome, Threads, error};
use crate::check::gives;
use crate::check::{rules, suggest};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::{Expr, ExprKind, Function, LaunchConfig, Name, Role, TypeExpr, TypeKind};
use crate::typed::ParamKind;
use slyz_sir::types::{Scalar, Ty};

/// A tensor on its way to a kernel.
struct Bound<'a, T> {
    tensor: Tensor<T>,
    way: Way<'a>,
}

/// What becomes of a tensor that a kernel gets.
#[derive(Clone, Copy)]
enum Way<'a> {
    /// It is read.
    Read,
    /// The variable gets it back, written.
    Lent(&'a str),
    /// It is what the launch gives.
    Given,
}

impl<'a, M: Machine> Host<'a, M> {
    /// `launch f(..) with ..`; a direct call says nothing about threads.
    pub(super) fn launch(
        &mut self,
        function: &'a Name,
        args: &'a [Expr],
        config: Option<&'a LaunchConfig>,
    ) -> Outcome<Value<M::Tensor>> {
        let (declared, kernel) = self.kernel(function, config)?;
        if args.len() != declared.params.len() {
            return Err(wrong_count(declared, args.len(), function.span).into());
        }
        passed_twice(args, kernel)?;
        let threads = config.map_or(Ok(Threads::Inferred), |config| self.threads_of(config))?;
        let mut bound = vec![];
        let mut scalars = vec![];
        for ((arg, param), name) in args.iter().zip(&kernel.params).zip(declared.params.iter().map(|param| &param.name))
        {
            match param.kind {
                ParamKind::Scalar(_, ty) => {
                    let wish = || format!("parameter `{}` of `{}` is", param.name, kernel.name);
                    scalars.push(self.number_for(arg, ty, name, wish)?);
                }
                ParamKind::Tensor { elem, rank, flat, mutable } => {
                    let wanted = (elem, (!flat).then_some(rank));
                    bound.push(self.bind(kernel, arg, name, wanted, mutable)?);
                }
            }
        }
        // Only now, since other arguments may look at them: the variables give up what is written, so that nobody copies it.
        for bound in &bound {
            if let Bound::<M::Tensor> { way: Way::Lent(name), .. } = bound {
                self.lend(name);
            }
        }
        match declared.result.as_ref().map(|result| &result.kind) {
            Some(TypeKind::Scalar(ty)) => {
                let axes = config.and_then(gives::axes).unwrap_or(1);
                let shape = self.shape_of(threads, axes, function.span)?;
                let Value::Tensor(tensor) = self.filled_tensor(Scalar::from_int(*ty, 0), shape, function.span)? else {
                    return Err(super::exec::not_read(function.span));
                };
                tensor.upload(self.machine).map_err(|failure| failed(&failure, function.span))?;
                bound.push(Bound { tensor, way: Way::Given });
                self.run_kernel(kernel, bound, scalars, threads, function.span)
            }
            Some(_) => {
                let given = gives::given_param(declared)?;
                self.run_kernel(kernel, bound, scalars, threads, function.span)?;
                match &args[given].kind {
                    ExprKind::Borrow(_, variable) => self.eval(variable),
                    _ => self.eval(&args[given]),
                }
            }
            None => self.run_kernel(kernel, bound, scalars, threads, function.span),
        }
    }

    /// The shape of what the threads of a launch give: an axis for each that it names, x last.
    fn shape_of(&self, threads: Threads, axes: usize, span: Span) -> Outcome<Vec<u64>> {
        let counts = match threads {
            Threads::Exact(threads) | Threads::InBlocks { threads, .. } => Some(threads.map(Some)),
            Threads::Blocks { grid, block } => {
                Some(std::array::from_fn(|axis| grid[axis].checked_mul(block[axis].into())))
            }
            Threads::Inferred => None,
        };
        let counts = counts.and_then(|counts| counts[..axes].iter().rev().copied().collect());
        counts.ok_or_else(|| error("launch-threads", span, "more threads than can be counted").into())
    }

    /// The graph function of that name.
    fn kernel(&self, function: &Name, config: Option<&LaunchConfig>) -> Outcome<(&'a Function, &'a Kernel)> {
        let name = &function.text[..];
        let Some(&declared) = self.functions.get(name) else {
            let error = error(rules::FUNCTION, function.span, format!("there is no graph function `{name}`"));
            let graphs = self.functions.iter().filter(|(_, f)| f.role == Role::Graph).map(|(name, _)| *name);
            return Err(match suggest::nearest(name, graphs) {
                Some(near) => error.help(format!("did you mean `{near}`?")).into(),
                None => error.help(format!("write it: `graph fn {name}(..) {{ .. }}`")).into(),
            });
        };
        let refused = |message: String, help: String| {
            let error = error("not-launchable", function.span, message);
            Box::new(error.related(declared.name.span, "declared here").help(help))
        };
        if declared.role == Role::Plain {
            let help = format!("call it without `launch`, or declare it as `graph fn {name}`");
            return Err(refused(format!("`{name}` is a function of the host and cannot be launched"), help));
        }
        let numbers = matches!(declared.result, Some(TypeExpr { kind: TypeKind::Scalar(_), .. }));
        let kernel = match (numbers, config.and_then(gives::axes)) {
            (true, Some(axes)) => self.kernels.get(&gives::kernel_name(name, axes)[..]),
            (true, None) => {
                let help = format!("write `launch {name}(..) with threads: n`; it gives a tensor of n elements");
                return Err(refused(
                    format!("each thread of `{name}` gives a value, but nobody says how many there are"),
                    help,
                ));
            }
            (false, _) => self.kernels.get(name),
        };
        let wanted = declared.params.len() + usize::from(numbers);
        let kernel = kernel.copied().filter(|kernel| kernel.params.len() == wanted);
        match kernel {
            Some(kernel) => Ok((declared, kernel)),
            None => Err(refused(format!("`{name}` was not compiled"), "mend the errors in it first".to_string())),
        }
    }

    fn number_for(&mut self, arg: &'a Expr, ty: Ty, param: &Name, wish: impl Fn() -> String) -> Outcome<Scalar> {
        let related = |mut diagnostic: Box<Diagnostic>| {
            diagnostic.related.push((param.span, "the parameter".to_string()));
            diagnostic
        };
        match self.eval(arg)? {
            Value::Number(number) => number.at(arg.span).pass(ty, wish).map_err(related),
            other => {
                let message = format!("{} {ty}, but this is {}", wish(), other.describe());
                Err(related(error(rules::ARGUMENT, arg.span, message).help("pass a number").into()))
            }
        }
    }

    /// A tensor for a parameter; the machine has its elements.
    fn bind(
        &mut self,
        kernel: &Kernel,
        arg: &'a Expr,
        param: &Name,
        (elem, rank): (Ty, Option<usize>),
        mutable: bool,
    ) -> Outcome<Bound<'a, M::Tensor>> {
        let fits = |tensor: &Tensor<M::Tensor>| {
            if tensor.ty == elem && rank.is_none_or(|rank| rank == tensor.shape.len()) {
                return Ok(());
            }
            let wanted = rank.map_or(String::new(), |rank| format!(" with {}", axes(rank)));
            let name = (&param.text, &kernel.name);
            let message = format!(
                "parameter `{}` of `{}` is a tensor of {elem}{wanted}, but this is {}",
                name.0,
                name.1,
                tensor.describe()
            );
            let help = match tensor.ty == elem {
                true => format!("pass a tensor with {}, or declare the parameter otherwise", axes(rank.unwrap_or(1))),
                false => format!("make it of {elem}, as in `Tensor.zeros<{elem}>(..)`"),
            };
            Err(Box::new(error(rules::MISMATCH, arg.span, message).related(param.span, "the parameter").help(help)))
        };
        if mutable {
            let name = self.lender(arg, &kernel.name, param)?;
            let value = self.named_value(name, arg.span)?;
            let Value::Tensor(tensor) = value else { return Err(self.no_tensor(kernel, &value, arg.span, param)) };
            fits(&tensor)?;
            tensor.upload(self.machine).map_err(|failure| failed(&failure, arg.span))?;
            return Ok(Bound { tensor, way: Way::Lent(name) });
        }
        let named = match &arg.kind {
            ExprKind::Borrow(_, inner) => inner,
            _ => arg,
        };
        let value = self.eval_wanting(named, Some(elem))?;
        let Value::Tensor(tensor) = value else { return Err(self.no_tensor(kernel, &value, arg.span, param)) };
        fits(&tensor)?;
        tensor.upload(self.machine).map_err(|failure| failed(&failure, arg.span))?;
        Ok(Bound { tensor, way: Way::Read })
    }

    fn no_tensor(&self, kernel: &Kernel, value: &Value<M::Tensor>, span: Span, param: &Name) -> Box<Diagnostic> {
        let message =
            format!("`{}` takes a tensor for `{}`, but this is {}", kernel.name, param.text, value.describe());
        error(rules::ARGUMENT, span, message)
            .related(param.span, "the parameter")
            .help("make one with `Tensor.from([..])`")
            .into()
    }

    fn run_kernel(
        &mut self,
        kernel: &Kernel,
        bound: Vec<Bound<'a, M::Tensor>>,
        scalars: Vec<Scalar>,
        threads: Threads,
        span: Span,
    ) -> Outcome<Value<M::Tensor>> {
        let mut read = vec![];
        let mut written = vec![];
        for Bound { tensor, way } in bound {
            let ty = tensor.ty;
            let shape = tensor.shape.clone();
            match way {
                Way::Read => read.push(tensor),
                Way::Lent(_) | Way::Given => {
                    let Some(there) = tensor.into_uploaded() else { return Err(super::exec::not_read(span)) };
                    written.push((way, ty, shape, there));
                }
            }
        }
        let mut reads = read.iter();
        let mut writes = written.iter_mut();
        let argument = |param: &crate::typed::Param| match param.kind {
            ParamKind::Scalar(..) => None,
            ParamKind::Tensor { mutable: true, .. } => {
                writes.next().map(|(_, ty, shape, tensor)| Argument::Write { ty: *ty, shape, tensor })
            }
            ParamKind::Tensor { mutable: false, .. } => reads.next().and_then(|kept| {
                let tensor = kept.uploaded()?;
                Some(Argument::Read { ty: kept.ty, shape: &kept.shape, tensor })
            }),
        };
        let tensors = kernel.params.iter().filter_map(argument).collect();
        let done = self.machine.launch(kernel, Launch { threads, tensors, scalars });
        let mut given = Value::Nothing;
        for (way, ty, shape, there) in written {
            let tensor = Value::Tensor(Tensor::on_machine(ty, shape, there));
            match way {
                Way::Lent(name) => self.give_back(name, tensor),
                Way::Given => given = tensor,
                Way::Read => {}
            }
        }
        done.map_err(|failure| failed(&failure, span))?;
        Ok(given)
    }

    /// What stands behind `with`.
    fn threads_of(&mut self, config: &'a LaunchConfig) -> Outcome<Threads> {
        let LaunchConfig { threads, grid, block } = config;
        match (threads, grid, block) {
            (None, None, None) => Ok(Threads::Inferred),
            (Some(threads), None, None) => Ok(Threads::Exact(self.axes_of(threads)?)),
            (Some(threads), None, Some(block)) => {
                Ok(Threads::InBlocks { threads: self.axes_of(threads)?, block: self.block_of(block)? })
            }
            (None, Some(grid), Some(block)) => {
                Ok(Threads::Blocks { grid: self.axes_of(grid)?, block: self.block_of(block)? })
            }
            (Some(threads), Some(grid), _) => {
                let span = place_of(grid).to(place_of(threads));
                let message = "`threads` and `grid` both say how many threads there are";
                Err(error("launch-threads", span, message).help("keep `threads`, or `grid` and `block`").into())
            }
            (None, Some(grid), None) => {
                let message = "`grid` counts blocks, but nothing says how large one is";
                Err(error("launch-threads", place_of(grid), message)
                    .help("add `block: (..)`, or write `threads: ..`")
                    .into())
            }
            (None, None, Some(block)) => {
                let message = "`block` says how large a block is, but nothing says how many there are";
                Err(error("launch-threads", place_of(block), message).help("add `grid: (..)` or `threads: ..`").into())
            }
        }
    }

    /// One to three numbers; axes that are left out have one.
    fn axes_of(&mut self, numbers: &'a [Expr]) -> Outcome<[u64; 3]> {
        let mut axes = [1; 3];
        for (axis, number) in axes.iter_mut().zip(numbers) {
            *axis = self.extent(number, "a number of threads or blocks is")?;
        }
        Ok(axes)
    }

    fn block_of(&mut self, numbers: &'a [Expr]) -> Outcome<[u32; 3]> {
        let axes = self.axes_of(numbers)?;
        let mut block = [1; 3];
        for ((axis, &wanted), number) in block.iter_mut().zip(&axes).zip(numbers) {
            *axis = u32::try_from(wanted).ok().filter(|&threads| threads > 0).ok_or_else(|| {
                let message = format!("a block of {wanted} threads");
                Box::new(error("launch-threads", number.span, message).help("a block has 1 to 1024 threads"))
            })?;
        }
        Ok(block)
    }
}

/// The same variable for two parameters, one of which is written.
fn passed_twice(args: &[Expr], kernel: &Kernel) -> Outcome<()> {
    let name = |arg: &Expr| match &arg.kind {
        ExprKind::Name(name) => Some(name.clone()),
        ExprKind::Borrow(_, inner) => match &inner.kind {
            ExprKind::Name(name) => Some(name.clone()),
            _ => None,
        },
        _ => None,
    };
    let written = |k: usize| matches!(kernel.params[k].kind, ParamKind::Tensor { mutable: true, .. });
    let tensor = |k: usize| matches!(kernel.params[k].kind, ParamKind::Tensor { .. });
    for (k, arg) in args.iter().enumerate().filter(|(k, _)| tensor(*k)) {
        let same =
            |other: &usize| name(&args[*other]) == name(arg) && tensor(*other) && (written(k) || written(*other));
        if let (Some(name), Some(other)) = (name(arg), (0..k).find(same)) {
            let message = format!("`{name}` is passed twice, and written through one of the two");
            let error = error(rules::ALIASING, arg.span, message).related(args[other].span, "here as well");
            return Err(error.help("pass it once, or a copy: `let! other = ..`").into());
        }
    }
    Ok(())
}

fn place_of(numbers: &[Expr]) -> Span {
    numbers.iter().map(|number| number.span).reduce(Span::to).unwrap_or_default()
}
