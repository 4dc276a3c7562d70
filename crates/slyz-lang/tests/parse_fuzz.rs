//! Whatever it is handed, the parser returns, with places inside the text; and what it says can be drawn.

use proptest::prelude::*;
use slyz_lang::{parse::parse, render::render, span::Span};
use slyz_trials::property;

const PAGE: [&str; 7] = [
    include_str!("page/vectorAdd.vex"),
    include_str!("page/matmulKernel.vex"),
    include_str!("page/launch2d.vex"),
    include_str!("page/tiledMatmul.vex"),
    include_str!("page/withConstantMem.vex"),
    include_str!("page/compute.vex"),
    include_str!("page/relu.vex"),
];

const WORDS: &str = "let let! fn graph extern if else for in while loop break continue return true false as launch with threads grid \
    block step print go await async throw match unsafe new threadgroup constant x y _ Tensor f32 i64 Tensor<f32>! [f32;4] \
    ( ) [ ] { } < > + - * / % & | ^ ! = == != <= >= && || << >> += <<= >>= *+ .. ..= ... -> => :: : , ; . ? @ # \" ' \\ \
    1 0x 0xffu8 1.5 1e 1e9 2. .5 99999999999999999999999999999999999999999 1u7 \"a\" \"\\q\" // /* */ \u{feff} ü → “ \t \r \n";

fn survives(text: &str) {
    let (_, diagnostics) = parse(text);
    for diagnostic in &diagnostics {
        for &span in [&diagnostic.span].into_iter().chain(diagnostic.related.iter().map(|(span, _)| span)) {
            let Span { start, end } = span;
            assert!(start <= end && text.get(start as usize..end as usize).is_some(), "{span:?} in {text:?}");
        }
    }
    assert!(!render("fuzz.vex", text, &diagnostics).contains('\t'));
}

#[test]
fn random_bytes() {
    property("random_bytes", 400, prop::collection::vec(any::<u8>(), 0..400), |bytes| {
        survives(&String::from_utf8_lossy(&bytes));
        Ok(())
    });
}

#[test]
fn random_characters() {
    property("random_characters", 400, "\\PC{0,200}", |text| {
        survives(&text);
        Ok(())
    });
}

#[test]
fn random_words() {
    property("random_words", 400, prop::collection::vec((any::<prop::sample::Index>(), 0..4u8), 0..200), |picks| {
        let words: Vec<&str> = WORDS.split(' ').collect();
        let gaps = ["", " ", " ", "\n"];
        let text: String = picks.iter().flat_map(|(word, gap)| [*word.get(&words), gaps[*gap as usize]]).collect();
        survives(&text);
        Ok(())
    });
}

#[test]
fn random_changes() {
    property(
        "random_changes",
        400,
        (
            0..PAGE.len(),
            prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4u8), 1..8),
        ),
        |(program, changes)| {
            let words: Vec<&str> = WORDS.split(' ').collect();
            let mut text: Vec<char> = PAGE[program].chars().collect();
            for (at, word, change) in changes {
                let at = at.index(text.len().max(1));
                match change {
                    0 => drop(text.drain(at..(at + 1).min(text.len()))),
                    1 => drop(text.splice(at..at, word.get(&words).chars())),
                    2 => text.truncate(at),
                    _ => {
                        let piece: Vec<char> = text[..at].iter().rev().take(word.index(40)).copied().collect();
                        text.splice(at..at, piece);
                    }
                }
            }
            survives(&text.into_iter().collect::<String>());
            Ok(())
        },
    );
}

/// On a small stack: what is too deep is an error, and dropping the tree is safe as well.
#[test]
fn depth_is_bounded() {
    let shapes: Vec<String> = vec![
        "(".repeat(100_000),
        "-".repeat(100_000) + "x",
        "!&".repeat(50_000),
        "a+".repeat(100_000) + "a",
        "a".to_string() + &".b".repeat(100_000),
        "a".to_string() + &"[0]".repeat(100_000),
        "a".to_string() + &" as f32".repeat(100_000),
        "let a: ".to_string() + &"[".repeat(100_000),
        "let a: ".to_string() + &"Tensor<".repeat(100_000),
        "let a: ".to_string() + &"Box<".repeat(100_000),
        "{".repeat(100_000),
        "if a {".repeat(100_000),
        "if a {} else ".repeat(100_000) + "{}",
        "loop {".repeat(100_000),
        "fn f() {".repeat(100_000),
        "f(".repeat(100_000),
        "[".repeat(100_000),
        "go {".repeat(100_000),
        "go ".repeat(100_000),
        "|x|".repeat(100_000),
        "/*".repeat(100_000),
        "a *+ b + ".repeat(100_000) + "c",
        "a < b > (".repeat(100_000),
        "a b;".repeat(25_000),
        "a b\n".repeat(25_000),
        "§ ".repeat(25_000),
        "f(a b(\n".repeat(25_000),
        // Each level leans to the left for a while: the depth of the tree is the product.
        (0..40).fold("a".to_string(), |inner, _| format!("({inner}{})", " + a".repeat(200))),
    ];
    let check = move || {
        for shape in shapes {
            let (_, diagnostics) = parse(&shape);
            let start: String = shape.chars().take(20).collect();
            assert!(!diagnostics.is_empty(), "{start}");
            render("deep.vex", &shape, &diagnostics);
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(check).unwrap().join().unwrap();
}

#[test]
fn what_people_write_is_not_too_deep() {
    for text in [
        format!("let x = {}x{}", "(".repeat(40), ")".repeat(40)),
        format!("let x = {}", vec!["x"; 200].join(" + ")),
        format!("{} {{}}", vec!["if a {} else"; 40].join(" ")),
        "x\n".repeat(10_000),
    ] {
        assert_eq!(parse(&text).1, [], "{text}");
    }
}
