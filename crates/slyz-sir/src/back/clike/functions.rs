//! Functions of a kernel, each written once in a file.

use super::describe::Description;
use super::expr::Expr;
use super::names::Names;
use super::writer::ClikeWriter;
use super::{Dialect, EmitError, File, is_taken};
use crate::code::Function;
use std::collections::HashMap;

/// Writes the functions of a kernel that the file does not have, and gives the names of all.
pub(super) fn functions(file: &mut File, description: &Description) -> Result<Vec<String>, EmitError> {
    let mut names: Vec<String> = vec![];
    for function in &description.kernel.functions {
        let written = Written::new(file.dialect, &file.helpers, description, function, names.clone())?;
        // It does not call itself, so what it is does not depend on its name.
        let key = written.text(file.dialect, "");
        let known = file.functions.iter().find(|(known, _)| *known == key).map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| {
            let dialect = file.dialect;
            let name = file.taken.free(&function.name, &|n| is_taken(dialect, n));
            file.items.push(written.text(dialect, &name));
            file.functions.push((key, name.clone()));
            name
        });
        names.push(name);
    }
    Ok(names)
}

/// The name of the type that a function of several results gives back.
pub(super) fn record_of(function: &str) -> String {
    format!("{function}_results")
}

/// A function that still has no name.
struct Written {
    /// Types and names.
    parameters: Vec<(String, String)>,
    body: String,
    /// Types and values.
    results: Vec<(&'static str, String)>,
}

impl Written {
    fn new(
        dialect: &dyn Dialect,
        helpers: &super::Helpers,
        description: &Description,
        function: &Function,
        callees: Vec<String>,
    ) -> Result<Written, EmitError> {
        let mut w = ClikeWriter::new(dialect, helpers, description, Names::default(), callees);
        let body = &function.body;
        w.usage_of(body, 0, &mut HashMap::new());
        let mut parameters = vec![];
        for param in &body.params {
            let ty = param.ty.elem();
            let name = w.fresh("x");
            parameters.push((w.ops().ty(ty)?.to_string(), name.clone()));
            w.values.insert(param.id, Expr::name(name, ty));
        }
        w.depth = 1;
        w.body(body)?;
        let mut results = vec![];
        for id in &body.results {
            let ty = w.types[id];
            let value = w.get(*id);
            results.push((w.ops().ty(ty)?, w.ops().to(&value, ty)?.tree.to_string()));
        }
        let body = w.lines.iter().map(|line| format!("{line}\n")).collect();
        Ok(Written { parameters, body, results })
    }

    fn text(&self, dialect: &dyn Dialect, name: &str) -> String {
        let (head, ty, value) = match &self.results[..] {
            [(ty, value)] => (String::new(), ty.to_string(), value.clone()),
            results => {
                let record = record_of(name);
                let fields: Vec<(String, String)> =
                    results.iter().enumerate().map(|(k, (ty, _))| (ty.to_string(), format!("r{k}"))).collect();
                let values: Vec<String> = results.iter().map(|(_, value)| value.clone()).collect();
                let value = dialect.record_value(&record, &values);
                (dialect.record(&record, &fields) + "\n", record, value)
            }
        };
        let function = dialect.function_head(name, &self.parameters, &ty);
        format!("{head}{function} {{\n{}    return {value};\n}}\n", self.body)
    }
}
