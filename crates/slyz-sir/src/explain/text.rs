//! An [`Explanation`] in words, for a terminal.

use super::count::{Count, Ratio, grouped};
use super::{Explanation, Launch, Library, Stage, Work, bytes};
use crate::code::Type;
use crate::kernel::{Access, BufferId, BufferUse};
use crate::size::Size;
use crate::types::Ty;
use std::fmt::{self, Display, Formatter};

/// Below this many flops per byte a processor waits for memory. Common machines balance between the two.
const STARVED: f64 = 2.0;
/// Above this many flops per byte it does not.
const FED: f64 = 16.0;

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        self.heading(f)?;
        self.fused(f)?;
        self.updated(f)?;
        let mut number = 0;
        for stage in &self.stages {
            match stage {
                Stage::Launch(launch) => {
                    number += 1;
                    self.launch(f, number, launch)?;
                }
                Stage::Count { size, .. } => {
                    writeln!(f, "\nthen {} is read back: later sizes depend on it", self.size_name(*size))?;
                }
                Stage::Enter(words) => writeln!(f, "\n{words}:")?,
                Stage::Leave => writeln!(f, "\nend")?,
                Stage::Free(_) => {}
            }
        }
        self.summary(f)
    }
}

impl Explanation {
    fn heading(&self, f: &mut Formatter) -> fmt::Result {
        let sizes: Vec<&str> = self.sizes.iter().map(|decl| &decl.name[..]).collect();
        let sizes = if sizes.is_empty() { String::new() } else { format!("<{}>", sizes.join(", ")) };
        let arguments = counted(self.params.len(), "argument");
        let results = counted(self.results.len(), "result");
        let launches = counted(self.launches().count(), "launch");
        writeln!(f, "{}{sizes}: {arguments}, {results}, {launches}", self.name)?;
        let known = self.sizes.iter().zip(&self.values);
        let known: Vec<String> =
            known.filter_map(|(decl, n)| Some(format!("{} = {}", decl.name, grouped((*n)?.into())))).collect();
        if known.is_empty() { Ok(()) } else { writeln!(f, "with {}", known.join(", ")) }
    }

    fn fused(&self, f: &mut Formatter) -> fmt::Result {
        let fusion = &self.fusion;
        if fusion.written == 0 {
            return writeln!(f, "\nfusion: nothing to do, no arrays are computed");
        }
        writeln!(f, "\nfusion: {} written, {} left", counted(fusion.written, "array"), fusion.left)?;
        if !fusion.gone.is_empty() {
            let gone = fusion.gone.iter().map(|(ty, times)| match times {
                1 => self.type_text(ty),
                _ => format!("{times} × {}", self.type_text(ty)),
            });
            writeln!(f, "  fused   {}", gone.collect::<Vec<_>>().join(", "))?;
        }
        for (shape, why) in &fusion.kept {
            writeln!(f, "  kept    {}: {why}", self.shape_text(shape))?;
        }
        for (shape, [along, across]) in &self.turned {
            let shape = self.shape_text(shape);
            writeln!(f, "  turned  {shape} in memory: {along} reads go along its last axis so, {across} did before")?;
        }
        Ok(())
    }

    fn updated(&self, f: &mut Formatter) -> fmt::Result {
        if self.updates.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nupdates")?;
        for update in &self.updates {
            let how = if update.in_place { "in place" } else { "copied  " };
            writeln!(f, "  {how} {}: {}", self.type_text(&update.ty), update.why)?;
        }
        Ok(())
    }

    fn launch(&self, f: &mut Formatter, number: usize, launch: &Launch) -> fmt::Result {
        writeln!(f, "\nlaunch {number}: {}, {}", launch.kernel, self.blocks_text(&launch.blocks))?;
        let mut rows: Vec<[String; 4]> = vec![];
        let (reads, rest): (Vec<_>, Vec<_>) = launch.touches.iter().partition(|t| t.access == Access::Read);
        for touch in reads.into_iter().chain(rest) {
            let verb = match touch.access {
                Access::Read => "reads",
                Access::Write => "writes",
                Access::ReadWrite => "updates",
            };
            let ty = self.buffers.get(touch.buffer.0 as usize).map_or(String::new(), |b| self.array(b.ty, &b.shape));
            rows.push([verb.into(), touch.name.clone(), ty, self.bytes_text(&touch.bytes)]);
        }
        for (name, ty, shape) in &launch.scratch {
            let size = format!("{} per thread", self.bytes_text(&bytes(*ty, shape)));
            rows.push(["scratch".into(), name.clone(), self.array(*ty, shape), size]);
        }
        write_rows(f, &rows)?;
        match launch.by_library {
            Some(Library::Floats) => writeln!(
                f,
                "  a product of matrices: cuBLASLt makes it where it is installed, unless `Exact` asks for every bit"
            )?,
            Some(Library::Bytes) => writeln!(
                f,
                "  a product of bytes: cuBLASLt makes it where it is installed and there are columns by fours, every bit the same"
            )?,
            None => {}
        }
        if let Some(language) = launch.by_hand {
            return writeln!(f, "  a raw kernel in {language}: what it computes is not known here");
        }
        self.computes(f, &launch.work, &launch.bytes(), false)?;
        self.operators(f, &launch.work)
    }

    fn computes(&self, f: &mut Formatter, work: &Work, bytes: &Count, pace: bool) -> fmt::Result {
        let flops = work.flops();
        if flops.is_zero() {
            return writeln!(f, "  computes nothing, only moves");
        }
        writeln!(f, "  computes {}{}", self.flops_text(work), self.intensity(work, &flops, bytes, pace))?;
        if work.at_least && pace {
            writeln!(f, "           a loop that its data end is counted as one turn")?;
        }
        Ok(())
    }

    /// Which operators, grouped by how often they run.
    fn operators(&self, f: &mut Formatter, work: &Work) -> fmt::Result {
        let mut groups: Vec<(Count, Vec<String>)> = vec![];
        for (operator, count) in &work.operators {
            for (product, times) in count.parts() {
                let text =
                    if times == 1 { operator.name().into() } else { format!("{} {}", grouped(times), operator.name()) };
                match groups.iter_mut().find(|(other, _)| *other == product) {
                    Some((_, texts)) => texts.push(text),
                    None => groups.push((product, vec![text])),
                }
            }
        }
        for (product, texts) in groups {
            writeln!(f, "    {} × ({})", self.count_text(&product), texts.join(", "))?;
        }
        Ok(())
    }

    fn summary(&self, f: &mut Formatter) -> fmt::Result {
        writeln!(f, "\nin all")?;
        writeln!(f, "  moves    {}, each array of a launch once", self.bytes_text(&self.bytes()))?;
        let work = self.work();
        self.computes(f, &work, &self.bytes(), true)?;
        let mut rows = vec![];
        for (id, buffer) in self.temporaries() {
            let word = if rows.is_empty() { "stores" } else { "" };
            let (ty, size) = (self.array(buffer.ty, &buffer.shape), bytes(buffer.ty, &buffer.shape));
            rows.push([word.into(), format!("tmp{}", id.0), ty, self.bytes_text(&size)]);
        }
        write_rows(f, &rows)?;
        match (rows.len(), self.peak()) {
            (0, _) => writeln!(f, "  stores   no temporaries"),
            (1, _) | (_, None) => Ok(()),
            (_, Some(peak)) => writeln!(f, "  {:8} at most {} at a time", "", byte_size(peak)),
        }
    }

    fn blocks_text(&self, blocks: &Count) -> String {
        if *blocks == Count::from(1) {
            return "1 block, on one thread".into();
        }
        format!("{} blocks{}, over all threads", self.count_text(blocks), self.equals(blocks, &grouped))
    }

    /// `, 5.4 flops per byte`, and what that means.
    fn intensity(&self, work: &Work, flops: &Count, bytes: &Count, pace: bool) -> String {
        let unit = unit(work);
        let ratio = match self.ratio(flops, bytes) {
            Ratio::None => return String::new(),
            Ratio::Grows => return format!(", more {unit} per byte the larger the sizes"),
            Ratio::Constant(ratio) => ratio,
        };
        let meaning = match ratio {
            _ if work.at_least => " or more",
            _ if !pace => "",
            r if r < STARVED => ": memory sets the pace",
            r if r < FED => ": memory and arithmetic keep each other busy",
            _ => ": arithmetic sets the pace",
        };
        format!(", {} {unit} per byte{meaning}", short(ratio))
    }

    /// At the sizes where they are known, else for large ones.
    fn ratio(&self, flops: &Count, bytes: &Count) -> Ratio {
        match (self.value(flops), self.value(bytes)) {
            (Some(_), Some(0)) => Ratio::None,
            (Some(flops), Some(bytes)) => Ratio::Constant(flops as f64 / bytes as f64),
            _ => flops.ratio(bytes),
        }
    }

    pub(super) fn flops_text(&self, work: &Work) -> String {
        let flops = work.flops();
        let least = if work.at_least { "at least " } else { "" };
        format!("{least}{} {}{}", self.count_text(&flops), unit(work), self.equals(&flops, &scaled))
    }

    fn bytes_text(&self, count: &Count) -> String {
        format!("{} bytes{}", self.count_text(count), self.equals(count, &byte_size))
    }

    /// ` = 64 MiB`, where there is something to say.
    fn equals(&self, count: &Count, spell: &dyn Fn(u128) -> String) -> String {
        let constant = count.at(&|_| None).is_some();
        match self.value(count) {
            Some(value) if !constant => format!(" = {}", spell(value)),
            Some(_) | None => String::new(),
        }
    }

    pub(super) fn count_text(&self, count: &Count) -> String {
        count.display(&|var| self.size_name(var)).to_string()
    }

    /// The bytes in few characters: a number where the sizes are known.
    pub(super) fn short_bytes(&self, count: &Count) -> String {
        match self.value(count) {
            Some(value) => byte_size(value),
            None => format!("{} B", self.count_text(count)),
        }
    }

    /// Flops per byte in few characters.
    pub(super) fn short_intensity(&self, work: &Work, bytes: &Count) -> Option<String> {
        let more = if work.at_least { "≥ " } else { "" };
        match self.ratio(&work.flops(), bytes) {
            Ratio::Constant(ratio) => Some(format!("{more}{} {}/B", short(ratio), unit(work))),
            Ratio::Grows | Ratio::None => None,
        }
    }

    fn type_text(&self, ty: &Type) -> String {
        self.array(ty.elem(), ty.shape())
    }

    pub(super) fn array(&self, ty: Ty, shape: &[Size]) -> String {
        if shape.is_empty() { ty.name().to_string() } else { format!("{ty}{}", self.shape_text(shape)) }
    }

    fn shape_text(&self, shape: &[Size]) -> String {
        let extents: Vec<String> = shape.iter().map(|size| self.count_text(&Count::from(size))).collect();
        format!("[{}]", extents.join(", "))
    }

    /// What a buffer is to the caller.
    pub(super) fn role_text(&self, id: BufferId, role: BufferUse) -> String {
        match role {
            BufferUse::Argument(k) => format!("argument {k}"),
            BufferUse::Result(k) => format!("result {k}"),
            BufferUse::Temporary => format!("temporary {}", id.0),
        }
    }
}

/// A verb, a name, a type and a size in each row; names and types line up.
fn write_rows(f: &mut Formatter, rows: &[[String; 4]]) -> fmt::Result {
    let width = |k: usize| rows.iter().map(|row| row[k].chars().count()).max().unwrap_or(0);
    let names = width(1);
    let types = width(2);
    for [verb, name, ty, size] in rows {
        writeln!(f, "  {verb:<8} {name:<names$}  {ty:<types$}  {size}")?;
    }
    Ok(())
}

fn unit(work: &Work) -> &'static str {
    if work.floats { "flops" } else { "operations" }
}

fn counted(n: usize, what: &str) -> String {
    let plural = if what.ends_with("ch") { "es" } else { "s" };
    format!("{n} {what}{}", if n == 1 { "" } else { plural })
}

/// Two digits that count.
fn short(x: f64) -> String {
    match x {
        x if x >= 10.0 => format!("{x:.0}"),
        x if x >= 1.0 => trimmed(&format!("{x:.1}")),
        x => trimmed(&format!("{x:.2}")),
    }
}

fn trimmed(text: &str) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn scaled(n: u128) -> String {
    in_units(n as f64, 1000.0, ["", " thousand", " million", " billion", " trillion"])
}

pub(super) fn byte_size(n: u128) -> String {
    in_units(n as f64, 1024.0, [" B", " KiB", " MiB", " GiB", " TiB"])
}

fn in_units(mut x: f64, step: f64, units: [&str; 5]) -> String {
    let mut k = 0;
    while x >= step && k + 1 < units.len() {
        x /= step;
        k += 1;
    }
    let number = if x < 100.0 { trimmed(&format!("{x:.1}")) } else { format!("{x:.0}") };
    format!("{number}{}", units[k])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.25, 0.0, 3.0, 5.43, 42.4].map(short), ["0.25", "0", "3", "5.4", "42"]);
        assert_eq!(
            [0, 512, 1536, 64 << 20, 1 << 60].map(byte_size),
            ["0 B", "512 B", "1.5 KiB", "64 MiB", "1048576 TiB"]
        );
        assert_eq!(scaled(83_900_000), "83.9 million");
        assert_eq!(counted(1, "launch") + &counted(2, "launch"), "1 launch2 launches");
    }
}
