//! An [`Explanation`] as a picture: arguments above, launches in between, results below, bytes on the arrows.
//!
//! The layout is the plain layered one: every box has a layer below what it needs, arrows that skip layers get a
//! place in each, boxes of a layer are ordered by where their neighbours stand. No dependency draws it, and the
//! colours follow the reader's light or dark theme.

use super::{Count, Explanation, Stage, Touch};
use crate::kernel::{Access, BufferId, BufferUse};
use std::collections::HashMap;
use std::fmt::Write;

const STYLE: &str = "\
  .paper{fill:#fff}text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1f2328}
  .head{font-weight:600}.soft{fill:#59636e}.box{stroke-width:1.3}
  .argument{fill:#ddf4ff;stroke:#54aeff}.launch{fill:#fff8c5;stroke:#d4a72c}.result{fill:#dafbe1;stroke:#4ac26b}
  .temporary{fill:#f6f8fa;stroke:#8c959f;stroke-dasharray:4 3}.host{fill:#fbefff;stroke:#c297ff}
  .arrow{fill:none;stroke:#8c959f;stroke-width:1.5}.tip{fill:#8c959f}
  @media(prefers-color-scheme:dark){.paper{fill:#0d1117}text{fill:#e6edf3}.soft{fill:#9198a1}
  .argument{fill:#0c2d4d;stroke:#388bfd}.launch{fill:#3b2b06;stroke:#bb8009}.result{fill:#0f3019;stroke:#2ea043}
  .temporary{fill:#161b22;stroke:#6e7681}.host{fill:#2b1a44;stroke:#8957e5}.arrow{stroke:#6e7681}.tip{fill:#6e7681}}
";

const MARGIN: f64 = 24.0;
const CHARACTER: f64 = 7.25;
const LINE: f64 = 17.0;
/// Between boxes of a layer.
const ASIDE: f64 = 28.0;
/// Between layers: room for an arrow and its label.
const BELOW: f64 = 64.0;
/// Rounds of ordering and moving; pictures stop changing before that.
const ROUNDS: usize = 12;

/// What a box stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Thing {
    Buffer(BufferId),
    Scalar(usize),
    Step(usize),
    /// A place where an arrow passes a layer.
    Bend,
}

struct Node {
    class: &'static str,
    lines: Vec<String>,
    layer: usize,
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

struct Arrow {
    /// Boxes from start to end; those between are bends.
    path: Vec<usize>,
    label: String,
    /// The label stands near the start.
    early: bool,
}

#[derive(Default)]
struct Drawing {
    nodes: Vec<Node>,
    known: HashMap<Thing, usize>,
    arrows: Vec<Arrow>,
    layers: Vec<Vec<usize>>,
}

impl Explanation {
    /// The picture. It has its own background, fits light and dark pages, and needs nothing but itself.
    pub fn svg(&self) -> String {
        let mut drawing = Drawing::default();
        self.boxes(&mut drawing);
        drawing.sink_results();
        drawing.bend();
        drawing.arrange();
        let heading = self.heading_lines();
        drawing.write(&self.name, &heading)
    }

    fn heading_lines(&self) -> Vec<String> {
        let work = self.work();
        let known = self.sizes.iter().zip(&self.values);
        let known: Vec<String> = known.filter_map(|(decl, n)| Some(format!("{} = {}", decl.name, (*n)?))).collect();
        let at = if known.is_empty() { String::new() } else { format!(" at {}", known.join(", ")) };
        let flops = if work.flops().is_zero() { String::new() } else { format!(", {}", self.flops_text(&work)) };
        vec![format!("{}{at}", self.name), format!("moves {}{flops}", self.short_bytes(&self.bytes()))]
    }

    fn boxes(&self, drawing: &mut Drawing) {
        for (k, ty) in self.params.iter().enumerate() {
            let buffer = self.buffers.iter().position(|b| b.role == BufferUse::Argument(k));
            let thing = buffer.map_or(Thing::Scalar(k), |b| Thing::Buffer(BufferId(b as u32)));
            drawing.node(thing, "argument", vec![format!("argument {k}"), self.array(ty.elem(), ty.shape())], 0);
        }
        for (k, stage) in self.stages.iter().enumerate() {
            match stage {
                Stage::Launch(_) => self.launch_box(drawing, k),
                Stage::Count { size, from } => {
                    let above = self.buffer_box(drawing, *from, 0);
                    let layer = drawing.nodes[above].layer + 1;
                    let lines = vec![format!("{} is read back", self.size_name(*size))];
                    let node = drawing.node(Thing::Step(k), "host", lines, layer);
                    drawing.arrow(above, node, String::new(), true);
                }
                Stage::Free(_) | Stage::Enter(_) | Stage::Leave => {}
            }
        }
        for result in &self.results {
            self.buffer_box(drawing, *result, 0);
        }
    }

    fn launch_box(&self, drawing: &mut Drawing, k: usize) {
        let Some(Stage::Launch(launch)) = self.stages.get(k) else { return };
        // What is updated was filled before, if any launch has touched it.
        let is_known = |id| drawing.known.contains_key(&Thing::Buffer(id));
        let is_read = |touch: &&Touch| match touch.access {
            Access::Read => true,
            Access::ReadWrite => is_known(touch.buffer),
            Access::Write => false,
        };
        let (reads, writes): (Vec<&Touch>, Vec<&Touch>) = launch.touches.iter().partition(is_read);
        let mut sources: Vec<(usize, String)> = vec![];
        for touch in reads {
            sources.push((self.buffer_box(drawing, touch.buffer, 0), self.short_bytes(&touch.bytes)));
        }
        for scalar in &launch.scalars {
            sources.extend(drawing.known.get(&Thing::Scalar(*scalar)).map(|&node| (node, String::new())));
        }
        let layer = 1 + sources.iter().map(|(node, _)| drawing.nodes[*node].layer).max().unwrap_or(0);
        let blocks = match launch.blocks == Count::from(1) {
            true => "1 block".into(),
            false => format!("{} blocks", self.count_text(&launch.blocks)),
        };
        let mut lines = vec![launch.kernel.clone(), blocks];
        if !launch.work.flops().is_zero() {
            lines.push(self.flops_text(&launch.work));
            lines.extend(self.short_intensity(&launch.work, &launch.bytes()));
        }
        let node = drawing.node(Thing::Step(k), "launch", lines, layer);
        for (source, label) in &sources {
            drawing.arrow(*source, node, label.clone(), true);
        }
        for touch in writes {
            let target = self.buffer_box(drawing, touch.buffer, layer + 1);
            drawing.arrow(node, target, self.short_bytes(&touch.bytes), false);
        }
    }

    fn buffer_box(&self, drawing: &mut Drawing, id: BufferId, layer: usize) -> usize {
        let Some(buffer) = self.buffers.get(id.0 as usize) else {
            return drawing.node(Thing::Buffer(id), "temporary", vec!["?".into()], layer);
        };
        let class = match buffer.role {
            BufferUse::Argument(_) => "argument",
            BufferUse::Result(_) => "result",
            BufferUse::Temporary => "temporary",
        };
        let lines = vec![self.role_text(id, buffer.role), self.array(buffer.ty, &buffer.shape)];
        drawing.node(Thing::Buffer(id), class, lines, layer)
    }
}

impl Drawing {
    fn node(&mut self, thing: Thing, class: &'static str, lines: Vec<String>, layer: usize) -> usize {
        if let Some(&node) = self.known.get(&thing) {
            return node;
        }
        let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        let width = longest as f64 * CHARACTER + 24.0;
        let height = lines.len() as f64 * LINE + 14.0;
        let bend = thing == Thing::Bend;
        let (width, height) = if bend { (40.0, 0.0) } else { (width.max(80.0), height) };
        self.nodes.push(Node { class, lines, layer, x: 0.0, y: 0.0, width, height });
        if !bend {
            self.known.insert(thing, self.nodes.len() - 1);
        }
        self.nodes.len() - 1
    }

    fn arrow(&mut self, from: usize, to: usize, label: String, early: bool) {
        self.arrows.push(Arrow { path: vec![from, to], label, early });
    }

    /// Results stand in the last layer, unless something reads them.
    fn sink_results(&mut self) {
        let last = self.nodes.iter().map(|node| node.layer).max().unwrap_or(0);
        for k in 0..self.nodes.len() {
            if self.nodes[k].class == "result" && !self.arrows.iter().any(|arrow| arrow.path[0] == k) {
                self.nodes[k].layer = last;
            }
        }
    }

    /// Gives arrows that skip layers a place in each.
    fn bend(&mut self) {
        for k in 0..self.arrows.len() {
            let [from, to] = self.arrows[k].path[..] else { continue };
            let mut path = vec![from];
            for layer in self.nodes[from].layer + 1..self.nodes[to].layer {
                path.push(self.node(Thing::Bend, "", vec![], layer));
            }
            path.push(to);
            self.arrows[k].path = path;
        }
        let count = self.nodes.iter().map(|node| node.layer + 1).max().unwrap_or(0);
        self.layers = vec![vec![]; count];
        for (k, node) in self.nodes.iter().enumerate() {
            self.layers[node.layer].push(k);
        }
    }

    /// The mean place of the neighbours of each box.
    fn wishes(&self) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); self.nodes.len()];
        for arrow in &self.arrows {
            for pair in arrow.path.windows(2) {
                for (one, other) in [(pair[0], pair[1]), (pair[1], pair[0])] {
                    sums[one].0 += self.center(other);
                    sums[one].1 += 1.0;
                }
            }
        }
        let mean = |(k, (sum, n)): (usize, (f64, f64))| if n > 0.0 { sum / n } else { self.center(k) };
        sums.into_iter().enumerate().map(mean).collect()
    }

    fn center(&self, k: usize) -> f64 {
        self.nodes[k].x + self.nodes[k].width / 2.0
    }

    fn arrange(&mut self) {
        for layer in self.layers.clone() {
            let mut x = 0.0;
            for k in layer {
                self.nodes[k].x = x;
                x += self.nodes[k].width + ASIDE;
            }
        }
        for round in 0..ROUNDS {
            for index in 0..self.layers.len() {
                let wishes = self.wishes();
                if round < ROUNDS / 2 {
                    self.layers[index].sort_by(|a, b| wishes[*a].total_cmp(&wishes[*b]));
                }
                self.place(index, &wishes);
            }
        }
        let left = self.nodes.iter().map(|node| node.x).fold(f64::INFINITY, f64::min);
        self.nodes.iter_mut().for_each(|node| node.x += MARGIN - left);
        let mut y = MARGIN + 2.0 * LINE + 14.0;
        for layer in &self.layers {
            let height = layer.iter().map(|&k| self.nodes[k].height).fold(0.0, f64::max);
            for &k in layer {
                self.nodes[k].y = y + (height - self.nodes[k].height) / 2.0;
            }
            y += height + BELOW;
        }
    }

    /// Moves the boxes of a layer to where they wish to be, as far as the others let them.
    fn place(&mut self, index: usize, wishes: &[f64]) {
        let layer = self.layers[index].clone();
        let (mut edge, mut off) = (f64::NEG_INFINITY, 0.0);
        for &k in &layer {
            let wish = wishes[k] - self.nodes[k].width / 2.0;
            self.nodes[k].x = wish.max(edge);
            off += wish - self.nodes[k].x;
            edge = self.nodes[k].x + self.nodes[k].width + ASIDE;
        }
        let shift = off / layer.len().max(1) as f64;
        layer.iter().for_each(|&k| self.nodes[k].x += shift);
    }

    /// Where each arrow leaves and meets boxes: spread over the side, in the order of the other ends.
    fn ports(&self) -> (Vec<f64>, Vec<f64>) {
        let mut starts = vec![0.0; self.arrows.len()];
        let mut ends = vec![0.0; self.arrows.len()];
        for node in 0..self.nodes.len() {
            let leaving = |arrow: &Arrow| (arrow.path[0] == node).then(|| arrow.path[1]);
            let meeting = |arrow: &Arrow| {
                let [.., before, last] = arrow.path[..] else { return None };
                (last == node).then_some(before)
            };
            self.spread(node, &leaving, &mut starts);
            self.spread(node, &meeting, &mut ends);
        }
        (starts, ends)
    }

    fn spread(&self, node: usize, other: &dyn Fn(&Arrow) -> Option<usize>, ports: &mut [f64]) {
        let mut here: Vec<(usize, usize)> =
            self.arrows.iter().enumerate().filter_map(|(k, arrow)| Some((k, other(arrow)?))).collect();
        here.sort_by(|a, b| self.center(a.1).total_cmp(&self.center(b.1)));
        let step = self.nodes[node].width / (here.len() + 1) as f64;
        for (place, (arrow, _)) in here.into_iter().enumerate() {
            ports[arrow] = self.nodes[node].x + step * (place + 1) as f64;
        }
    }

    fn write(&self, name: &str, heading: &[String]) -> String {
        let far = |edge: &dyn Fn(&Node) -> f64| self.nodes.iter().map(edge).fold(0.0, f64::max);
        let heading_width = heading.iter().map(|line| line.chars().count()).max().unwrap_or(0) as f64 * CHARACTER;
        let width = far(&|node| node.x + node.width).max(MARGIN + heading_width) + MARGIN;
        let height = far(&|node| node.y + node.height) + MARGIN;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n\
             <title>{}: launches and the memory between them</title>\n<style>\n{STYLE}</style>\n\
             <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
            escaped(name)
        );
        for (k, line) in heading.iter().enumerate() {
            let class = if k == 0 { "head" } else { "soft" };
            let y = MARGIN + 8.0 + k as f64 * LINE;
            let _ = writeln!(out, "<text class=\"{class}\" x=\"{MARGIN}\" y=\"{y}\">{}</text>", escaped(line));
        }
        let labels = self.write_arrows(&mut out);
        self.nodes.iter().filter(|node| !node.lines.is_empty()).for_each(|node| write_node(&mut out, node));
        out.push_str(&labels);
        out.push_str("</svg>\n");
        out
    }

    /// Draws the arrows and gives back their labels, which go on top.
    fn write_arrows(&self, out: &mut String) -> String {
        let (starts, ends) = self.ports();
        let mut labels = String::new();
        for (k, arrow) in self.arrows.iter().enumerate() {
            let mut points: Vec<(f64, f64)> =
                arrow.path.iter().map(|&node| (self.center(node), self.nodes[node].y)).collect();
            let first = &self.nodes[arrow.path[0]];
            let last = points.len() - 1;
            points[0] = (starts[k], first.y + first.height);
            points[last] = (ends[k], points[last].1 - 6.0);
            let mut path = format!("M{:.1} {:.1}", points[0].0, points[0].1);
            for pair in points.windows(2) {
                let ((a, b), (c, d)) = (pair[0], pair[1]);
                let middle = (b + d) / 2.0;
                let _ = write!(path, "C{a:.1} {middle:.1} {c:.1} {middle:.1} {c:.1} {d:.1}");
            }
            let _ = writeln!(out, "<path class=\"arrow\" d=\"{path}\"/>");
            let (x, y) = points[last];
            let _ = writeln!(out, "<path class=\"tip\" d=\"M{:.1} {y:.1}h9l-4.5 7z\"/>", x - 4.5);
            if !arrow.label.is_empty() {
                let (from, to) = if arrow.early { (points[0], points[1]) } else { (points[last - 1], points[last]) };
                write_label(&mut labels, curve(from, to, if arrow.early { 0.36 } else { 0.62 }), &arrow.label);
            }
        }
        labels
    }
}

/// A point of the curve between two points that leaves and arrives upright.
fn curve((a, b): (f64, f64), (c, d): (f64, f64), t: f64) -> (f64, f64) {
    let s = 1.0 - t;
    let near = s * s * s + 3.0 * s * s * t;
    let far = 3.0 * s * t * t + t * t * t;
    let middle = (b + d) / 2.0;
    (near * a + far * c, s * s * s * b + 3.0 * s * t * middle + t * t * t * d)
}

fn write_label(out: &mut String, (x, y): (f64, f64), text: &str) {
    let width = text.chars().count() as f64 * CHARACTER + 8.0;
    let _ = writeln!(
        out,
        "<rect class=\"paper\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"16\" rx=\"3\"/>\
         <text class=\"soft\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
        x - width / 2.0,
        y - 8.0,
        y + 4.0,
        escaped(text)
    );
}

fn write_node(out: &mut String, node: &Node) {
    let round = if node.class == "launch" { 4.0 } else { 14.0 };
    let _ = writeln!(
        out,
        "<rect class=\"box {}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{round}\"/>",
        node.class, node.x, node.y, node.width, node.height
    );
    for (k, line) in node.lines.iter().enumerate() {
        let class = if k == 0 { "head" } else { "soft" };
        let x = node.x + node.width / 2.0;
        let y = node.y + 19.0 + k as f64 * LINE;
        let _ = writeln!(
            out,
            "<text class=\"{class}\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escaped(line)
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
