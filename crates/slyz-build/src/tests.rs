use super::*;
use slyz::prelude::*;

axis!(N);

fn double(x: Arr<f32, N>) -> Arr<f32, N> {
    x + x
}

fn message(bundle: Bundle, architecture: &str) -> String {
    let folder = std::env::temp_dir().join(format!("slyz-bundle-{}", std::process::id()));
    bundle.write_to(&folder, architecture).expect_err("something is wrong").to_string()
}

#[test]
fn what_cannot_be_bundled() {
    let closure = Bundle::new().function("f", |x: Exp<f32>| x + 1.0);
    assert!(message(closure, "x86_64").contains("cannot be called by another program"));
    let twice = Bundle::new().function("f", double).function("f", double);
    assert!(message(twice, "x86_64").contains("has \"f\" already"));
    assert!(message(Bundle::new().function("a/b", double), "x86_64").contains("is no name"));
    let unknown = Bundle::new().function("f", double).targets(["x86-64-v9"]);
    assert!(message(unknown, "x86_64").contains("no target \"x86-64-v9\""));
    let program = |text: &str| message(Bundle::new().program("f", text), "x86_64");
    assert!(program("program").contains("expected"), "{}", program("program"));
    let foreign = Bundle::new().function("f", double).targets(["x86-64-v3"]);
    assert!(message(foreign, "aarch64").contains("of no use in a program for aarch64"));
}

#[test]
fn paths() {
    assert_eq!(path_of("build_script_build::kernels::f").ok(), Some("crate::kernels::f".to_string()));
    assert_eq!(path_of("models::f").ok(), Some("::models::f".to_string()));
    assert!(path_of("build_script_build::f<f32>").is_err());
    assert!(path_of("f").is_err());
}
