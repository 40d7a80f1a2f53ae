//! A page of pictures: each feature of a game with its meaning, its evidence, and how it looks on the board. The page
//! stands alone: no other files, no scripts.

use std::collections::{BTreeMap, BTreeSet};

use features::bindings::{Binding, Bindings};
use features::game::Game;

use super::sheet::{Drawing, Sheet};
use super::{escape, put};

/// A feature as the page shows it.
pub(crate) struct Entry {
    /// What it means.
    pub(crate) sentence: String,
    /// As logic.
    pub(crate) logic: String,
    /// The role whose result it says most about.
    pub(crate) role: String,
    /// Its correlation with that, in matches that it was not chosen by.
    pub(crate) correlation: f64,
    /// Whether that is significant.
    pub(crate) significant: bool,
    /// The part of positions in which it is not 0.
    pub(crate) matching: f64,
    /// Where it comes from, and its level.
    pub(crate) origin: String,
    /// A position in which it is high, and its value there.
    pub(crate) sample: Option<(Vec<u64>, i32)>,
}

/// The whole page.
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    /// One paragraph on how the features were found.
    pub(crate) summary: &'a str,
    pub(crate) game: &'a Game,
    pub(crate) sheet: &'a Sheet,
    pub(crate) entries: &'a [Entry],
    /// In the order of `entries`; none where they are too many.
    pub(crate) bindings: Option<&'a Bindings>,
}

impl Page<'_> {
    /// The page as HTML.
    pub(crate) fn html(&self) -> String {
        let title = escape(self.title);
        let mut text = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}: features</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        );
        put(
            &mut text,
            format_args!(
                r#"<svg width="0" height="0" aria-hidden="true"><defs><g id="board">{}</g></defs></svg>"#,
                self.sheet.base()
            ),
        );
        put(&mut text, format_args!("\n<header><h1>{title}</h1><p>{}</p>\n", escape(self.summary)));
        text.push_str(LEGEND);
        text.push_str("</header>\n<main>\n");
        let samples: Vec<Option<&[u64]>> =
            self.entries.iter().map(|entry| entry.sample.as_ref().map(|sample| &sample.0[..])).collect();
        let states: Vec<&[u64]> = samples.iter().flatten().copied().collect();
        let holding = self.bindings.map(|bindings| bindings.holding(&states));
        let mut state = 0;
        for (index, entry) in self.entries.iter().enumerate() {
            let of_sample =
                holding.as_ref().filter(|_| entry.sample.is_some()).map(|holding| &holding[state][index][..]);
            state += usize::from(entry.sample.is_some());
            self.entry(&mut text, index, entry, of_sample.unwrap_or(&[]));
        }
        if self.entries.is_empty() {
            text.push_str("<p>No feature was chosen: none says anything about the results.</p>\n");
        }
        text + "</main>\n</body>\n</html>\n"
    }

    fn entry(&self, text: &mut String, index: usize, entry: &Entry, holding: &[usize]) {
        let rank = index + 1;
        let star = if entry.significant { "★ significant" } else { "not significant" };
        put(
            text,
            format_args!(
                "<article id=\"f{rank}\"><h2><a href=\"#f{rank}\">{rank}</a> {}</h2>\n",
                escape(&entry.sentence)
            ),
        );
        // The bar goes from the middle to the side of its sign.
        let part = (entry.correlation.abs() * 50.0).clamp(0.5, 50.0);
        let left = if entry.correlation < 0.0 { 50.0 - part } else { 50.0 };
        let sign = if entry.correlation < 0.0 { "minus" } else { "plus" };
        put(
            text,
            format_args!(
                "<div class=\"evidence\"><div class=\"bar\"><i class=\"{sign}\" style=\"left:{left:.1}%;width:{part:.1}%\"></i></div>\
                 <span>{:+.3} with {}’s result · {star} · matches {:.0} % · {}</span></div>\n",
                entry.correlation,
                escape(&entry.role),
                entry.matching * 100.0,
                escape(&entry.origin)
            ),
        );
        if !self.sheet.is_empty() {
            self.pictures(text, index, entry, holding);
        }
        put(text, format_args!("<pre><code>{}</code></pre></article>\n", escape(&entry.logic)));
    }

    fn pictures(&self, text: &mut String, index: usize, entry: &Entry, holding: &[usize]) {
        text.push_str("<div class=\"pictures\">");
        let bindings: &[Binding] = self.bindings.map_or(&[], |bindings| &bindings.features[index]);
        let all: Vec<usize> = (0..bindings.len()).collect();
        let heat = self.heat(bindings, &all);
        let mut shown = false;
        if !heat.is_empty() {
            // One binding as an example; one from the middle is rarely at the border.
            let example = bindings.iter().max_by_key(|binding| binding.fluents.len()).map_or(0, |most| {
                let full: Vec<usize> =
                    (0..bindings.len()).filter(|&at| bindings[at].fluents.len() == most.fluents.len()).collect();
                full[full.len() / 2]
            });
            let mut drawing = Drawing { heat, ..Drawing::default() };
            for &(fluent, holds) in &bindings[example].fluents {
                if holds { &mut drawing.fluents } else { &mut drawing.absent }.push(fluent);
            }
            drawing.framed = self.cells(&bindings[example]).collect();
            let caption = match bindings.len() {
                1 => "what it asks for".to_owned(),
                n => format!("where it looks, and one of its {n} ways to match"),
            };
            put(
                text,
                format_args!(
                    "<figure>{}<figcaption>{caption}</figcaption></figure>",
                    self.sheet.draw(&drawing, &caption)
                ),
            );
            shown = true;
        }
        if let Some((state, value)) = &entry.sample {
            let fluents = (0u32..).zip(&self.game.circuit.fluents).filter(|(_, wire)| {
                let gate = wire.gate() as usize;
                let holds = gate > 0 && state[(gate - 1) / 64] >> ((gate - 1) % 64) & 1 == 1;
                holds != wire.is_inverted()
            });
            let mut drawing = Drawing { fluents: fluents.map(|(fluent, _)| fluent).collect(), ..Drawing::default() };
            drawing.heat = self.heat(bindings, holding);
            drawing.framed = drawing.heat.keys().copied().collect();
            let caption = format!("a position in which it is {value}");
            put(
                text,
                format_args!(
                    "<figure>{}<figcaption>{caption}</figcaption></figure>",
                    self.sheet.draw(&drawing, &caption)
                ),
            );
            shown = true;
        }
        if !shown {
            text.push_str("<p class=\"none\">It names no place of the board.</p>");
        }
        text.push_str("</div>\n");
    }

    fn cells<'b>(&'b self, binding: &'b Binding) -> impl Iterator<Item = (usize, usize)> + 'b {
        let fluents = binding.fluents.iter().filter_map(|&(fluent, _)| self.sheet.cell(fluent));
        let moves = binding.moves.iter().flat_map(|&chosen| self.sheet.cells_of_move(chosen)).copied();
        fluents.chain(moves).chain(binding.others.iter().flat_map(|terms| self.sheet.cells_among(terms)))
    }

    /// How strongly cells are shaded: by how much the bindings that name them add.
    fn heat(&self, bindings: &[Binding], which: &[usize]) -> BTreeMap<(usize, usize), f64> {
        // The sum of what they add, and that without signs.
        let mut sums: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
        for &number in which {
            let cells: BTreeSet<(usize, usize)> = self.cells(&bindings[number]).collect();
            let weight = f64::from(bindings[number].weight);
            for cell in cells {
                let (sum, strength) = sums.entry(cell).or_default();
                (*sum, *strength) = (*sum + weight, *strength + weight.abs());
            }
        }
        let most = sums.values().fold(0.0, |most: f64, sum| most.max(sum.1));
        let shade = |(sum, strength): (f64, f64)| {
            let shade = 0.12 + 0.6 * strength / f64::max(most, 1e-9);
            if sum < 0.0 { -shade } else { shade }
        };
        sums.into_iter().map(|(cell, sums)| (cell, shade(sums))).collect()
    }
}

const LEGEND: &str = "<p class=\"legend\">Each picture on the left shades the cells that a feature looks at, the more often \
    the darker (reddish where that lowers the value), and frames one way in which it matches; what is crossed out must not be there, and a dot is an empty cell. \
    The one on the right is a position from play in which its value is high, with the cells that count.</p>\n";

const STYLE: &str = "
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--dim:#57606a;--line:#c4cbd3;--cell:#f6f8fa;--heat:#d4a72c;
--mark:#24292f;--plus:#1a7f37;--minus:#bc4c00;--r0:#0550ae;--r1:#a40e26;--r2:#116329;--r3:#6639ba;--card:#fff}
@media(prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--dim:#9198a1;--line:#3d444d;--cell:#161b22;
--heat:#bb8009;--mark:#f0f6fc;--plus:#3fb950;--minus:#db6d28;--r0:#79c0ff;--r1:#ff8f88;--r2:#7ee787;--r3:#d2a8ff;--card:#11161d}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:76rem;padding:1rem;background:var(--paper);color:var(--ink);font:16px/1.45 system-ui,sans-serif}
h1{font-size:1.6rem;margin:.2rem 0}header p{max-width:46rem;margin:.4rem 0}.legend,.none,figcaption{color:var(--dim);font-size:.85rem}
main{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr));gap:1rem}
article{border:1px solid var(--line);border-radius:.6rem;padding:.8rem 1rem;background:var(--card);min-width:0;
display:flex;flex-direction:column}
h2{font-size:1rem;font-weight:600;margin:0 0 .5rem;overflow-wrap:anywhere}h2 a{color:var(--dim);text-decoration:none;margin-right:.4rem}
.evidence{font-size:.85rem;color:var(--dim);margin-bottom:.5rem}
.bar{position:relative;height:.6rem;background:var(--cell);border:1px solid var(--line);border-radius:.3rem;margin-bottom:.2rem}
.bar::after{content:'';position:absolute;left:50%;top:-.15rem;bottom:-.15rem;border-left:1px solid var(--dim)}
.bar i{position:absolute;top:0;bottom:0;border-radius:.2rem}.plus{background:var(--plus)}.minus{background:var(--minus)}
.pictures{display:flex;flex-wrap:wrap;gap:.8rem;margin-top:auto}figure{margin:0;flex:1 1 11rem;max-width:22rem}
figure svg{width:100%;max-height:20rem;display:block}figcaption{text-align:center;margin-top:.2rem}
pre{margin:.6rem 0 0;max-height:7rem;overflow:auto;background:var(--cell);border-radius:.4rem;padding:.5rem;font-size:.75rem;
white-space:pre-wrap;overflow-wrap:anywhere}
.c{fill:var(--cell);stroke:var(--line);stroke-width:.4}.l{stroke:var(--line);stroke-width:.6}.h{fill:var(--heat)}.n{fill:var(--minus)}
.f{fill:none;stroke:var(--mark);stroke-width:.7}.e{fill:var(--mark)}.x{stroke:var(--minus);stroke-width:1}
.t,.g{text-anchor:middle;dominant-baseline:central;fill:var(--dim);font:3px system-ui,sans-serif}
.g{font-size:7px;font-weight:600;fill:var(--ink)}.s{font-size:4.6px}
.r0{fill:var(--r0)}.r1{fill:var(--r1)}.r2{fill:var(--r2)}.r3{fill:var(--r3)}
@media(max-width:40rem){body{padding:.6rem;font-size:15px}}
";
