use slyz_sir::*;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let (module, _) = text::parse_file(&text).unwrap();
    for g in &module.graphs {
        verify::graph(g).unwrap();
        let o = pass::optimize(g);
        eprintln!("{o}");
        let plan = lower::cpu::lower(&o);
        verify::plan(&plan).unwrap();
        if std::env::args().nth(2).is_some() {
            eprintln!("{}", text::print_plan(&plan));
        }
        println!("{}", back::c::emit(&plan, false).unwrap());
    }
}
