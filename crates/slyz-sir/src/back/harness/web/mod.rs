//! Programs as a page of the browser: WGSL, a function of JavaScript for each program, and a page that validates them.
//!
//! | file | holds |
//! |---|---|
//! | `kernels.js` | the functions: typed arrays in, typed arrays out |
//! | `NAME.wgsl` | a kernel |
//! | `cases.js` | calls, and what the interpreter makes of them |
//! | `engine.js` | WebGPU |
//! | `index.html`, `page.js` | the page, which runs the cases |
//!
//! `kernels.js`, `engine.js` and the kernels are all that an application needs.

mod by_hand;
mod cases;
mod javascript;
mod shader;

pub use by_hand::emit_kernels;

use super::{Emitted, File, Options, ProjectError, Target, checked_names, is_name, raw, rename};
use crate::back::wgsl::Wgsl;
use crate::back::words::shorten;
use crate::program::Program;
use crate::road::ProgramRoad;
use crate::verify;
use cases::Call;
use javascript::Function;
use shader::Shader;

const ENGINE: &str = include_str!("engine.js");
const PAGE: &str = include_str!("page.js");
const INDEX: &str = include_str!("index.html");

/// Writes programs as a page.
pub(super) fn emit(programs: &[Program], road: &ProgramRoad, options: &Options) -> Result<Emitted, ProjectError> {
    programs.iter().try_for_each(|program| check_name(&program.name))?;
    let mut names = checked_names(programs)?;
    let mut page = Page::default();
    for program in programs {
        verify::program(program).map_err(|why| ProjectError::Program { name: program.name.clone(), why })?;
        let chosen = raw::chosen(program, Target::Web);
        Wgsl { int64: false, ..options.wgsl()? }.check_program(&chosen)?;
        let mut plan = road.end(&chosen);
        shorten(&mut plan);
        rename(&mut plan, &mut names);
        let shaders = plan.kernels.iter().map(|kernel| Shader::new(kernel, options)).collect::<Result<Vec<_>, _>>()?;
        page.functions.push(Function::new(&program.name, &plan, &program.requires, &shaders).text());
        page.calls.push(cases::of_program(&program.name, &plan, &super::cases::case(program)));
        page.names.push(program.name.clone());
        page.shaders.extend(shaders);
    }
    Ok(page.emitted())
}

/// Checks the name of a function.
fn check_name(name: &str) -> Result<(), ProjectError> {
    if !is_name(name) {
        return Err(ProjectError::Name(name.to_string()));
    }
    if javascript::is_taken(name) {
        return Err(ProjectError::Reserved { name: name.to_string(), language: "JavaScript" });
    }
    Ok(())
}

/// What the files of a page are made of.
#[derive(Default)]
struct Page {
    names: Vec<String>,
    functions: Vec<String>,
    shaders: Vec<Shader>,
    calls: Vec<Call>,
}

impl Page {
    fn emitted(self) -> Emitted {
        let functions = self.functions.join("\n");
        let kernels = javascript::kernels(&self.shaders);
        let module = format!("import * as engine from \"./engine.js\";\n\n{kernels}\n{functions}");
        let names: Vec<&str> = self.names.iter().map(|name| &name[..]).collect();
        let text = |name: &str, text: String| File::text(name.to_string(), text);
        let mut files = vec![
            text("index.html", INDEX.to_string()),
            text("page.js", PAGE.to_string()),
            text("cases.js", cases::file(&names, &self.calls)),
            text("kernels.js", module),
            text("engine.js", ENGINE.to_string()),
        ];
        files.extend(self.shaders.into_iter().map(|shader| File::text(shader.file(), shader.text)));
        Emitted { files, build: "python3 -m http.server 8000 # http://localhost:8000 shows the page".to_string() }
    }
}
