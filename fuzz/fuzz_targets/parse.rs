//! Whatever it is handed, the parser returns, with places inside the text; and what it says can be drawn.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (_, diagnostics) = slyz_lang::parse::parse(text);
    for diagnostic in &diagnostics {
        let span = diagnostic.span;
        assert!(text.get(span.start as usize..span.end as usize).is_some());
    }
    slyz_lang::render::render("fuzz.vex", text, &diagnostics);
});
