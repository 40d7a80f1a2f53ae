//! Learning curves: how well results are predicted, by the matches that were played.

use super::{escape, number, put, shorten};

/// A line of a picture.
pub(crate) struct Line {
    pub(crate) name: String,
    /// Lines of one group have one colour.
    pub(crate) group: usize,
    /// Across and up; where there is no number, the line has a gap.
    pub(crate) points: Vec<(f64, Option<f64>)>,
}

/// What is drawn.
pub(crate) struct Curve<'a> {
    pub(crate) title: &'a str,
    /// Lines of text under the title.
    pub(crate) notes: &'a [String],
    /// What the axes say.
    pub(crate) across: &'a str,
    pub(crate) up: &'a str,
    pub(crate) lines: &'a [Line],
}

const WIDTH: f64 = 760.0;
/// The room that lines have, and what is left of it for the axis.
const PLOT: (f64, f64) = (500.0, 280.0);
const LEFT: f64 = 70.0;
/// So many groups have a colour of their own.
const COLOURS: usize = 6;

impl Curve<'_> {
    /// The curve as a picture that stands alone.
    pub(crate) fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points).filter_map(|&(x, y)| Some((x, y?)));
        let top = 50.0 + 16.0 * self.notes.len() as f64;
        let height = top + PLOT.1 + 60.0;
        let mut picture = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">"#,
            number(WIDTH),
            number(height),
            escape(self.title)
        );
        picture.push_str(STYLE);
        put(
            &mut picture,
            format_args!(
                r#"<rect class="paper" width="100%" height="100%"/><text class="title" x="20" y="24">{}</text>"#,
                escape(self.title)
            ),
        );
        for (place, note) in self.notes.iter().enumerate() {
            let y = number(42.0 + 16.0 * place as f64);
            put(&mut picture, format_args!(r#"<text class="note" x="20" y="{y}">{}</text>"#, escape(note)));
        }
        if points().next().is_none() {
            put(
                &mut picture,
                format_args!(
                    r#"<text class="note" x="20" y="{}">There is nothing to draw.</text>"#,
                    number(top + 20.0)
                ),
            );
            return picture + "</svg>\n";
        }
        let across = Scale::new(points().map(|(x, _)| x).chain([0.0]));
        let up = Scale::new(points().map(|(_, y)| y));
        let place = |x: f64, y: f64| (LEFT + PLOT.0 * across.part(x), top + PLOT.1 * (1.0 - up.part(y)));
        // Step 1. The axes.
        for tick in across.ticks() {
            let (x, bottom) = place(tick, up.from);
            let [x, y1, y2, text] = [x, top, bottom, bottom + 16.0].map(number);
            put(
                &mut picture,
                format_args!(
                    r#"<line class="grid" x1="{x}" y1="{y1}" x2="{x}" y2="{y2}"/><text class="tick" x="{x}" y="{text}" text-anchor="middle">{}</text>"#,
                    across.label(tick)
                ),
            );
        }
        for tick in up.ticks() {
            let (left, y) = place(across.from, tick);
            let [x1, x2, text, y, base] = [left, left + PLOT.0, left - 8.0, y, y + 4.0].map(number);
            put(
                &mut picture,
                format_args!(
                    r#"<line class="grid" x1="{x1}" y1="{y}" x2="{x2}" y2="{y}"/><text class="tick" x="{text}" y="{base}" text-anchor="end">{}</text>"#,
                    up.label(tick)
                ),
            );
        }
        let [middle, below, aside, half] =
            [LEFT + PLOT.0 / 2.0, top + PLOT.1 + 40.0, 18.0, top + PLOT.1 / 2.0].map(number);
        put(
            &mut picture,
            format_args!(
                r#"<text class="note" x="{middle}" y="{below}" text-anchor="middle">{}</text><text class="note" transform="translate({aside} {half}) rotate(-90)" text-anchor="middle">{}</text>"#,
                escape(self.across),
                escape(self.up)
            ),
        );
        // Step 2. The lines, and what they are.
        for (row, line) in self.lines.iter().enumerate() {
            let class = format!("c{}", line.group % COLOURS);
            for part in line.points.split(|(_, y)| y.is_none()).filter(|part| !part.is_empty()) {
                let places: Vec<String> = part
                    .iter()
                    .filter_map(|&(x, y)| Some(place(x, y?)))
                    .map(|(x, y)| format!("{},{}", number(x), number(y)))
                    .collect();
                if let [only] = &places[..] {
                    let (x, y) = only.split_once(',').unwrap_or_default();
                    put(&mut picture, format_args!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="2.5"/>"#));
                } else {
                    put(&mut picture, format_args!(r#"<polyline class="{class}" points="{}"/>"#, places.join(" ")));
                }
            }
            let (left, y) = (LEFT + PLOT.0 + 16.0, top + 12.0 + 18.0 * row as f64);
            let [x1, x2, text, y, base] = [left, left + 24.0, left + 30.0, y, y + 4.0].map(number);
            put(
                &mut picture,
                format_args!(
                    r#"<line class="{class}" x1="{x1}" y1="{y}" x2="{x2}" y2="{y}"/><text class="tick" x="{text}" y="{base}"><title>{}</title>{}</text>"#,
                    escape(&line.name),
                    escape(&shorten(&line.name, 22))
                ),
            );
        }
        picture + "</svg>\n"
    }
}

/// From numbers to places.
struct Scale {
    from: f64,
    to: f64,
    step: f64,
}

impl Scale {
    /// A scale with round ends that has room for all numbers.
    fn new(numbers: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = numbers.fold((f64::MAX, f64::MIN), |(low, high), n| (low.min(n), high.max(n)));
        let room = if high > low { high - low } else { low.abs().max(1.0) * 0.1 };
        // Steps of 1, 2 or 5 times a power of ten, about seven of them.
        let rough = room / 7.0;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|part| rough <= part * power * 1.0001).unwrap_or(10.0);
        let from = (low / step).floor() * step;
        let to = (high / step).ceil() * step;
        Scale { from, to: if to > from { to } else { from + step }, step }
    }

    fn part(&self, n: f64) -> f64 {
        (n - self.from) / (self.to - self.from)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let n = ((self.to - self.from) / self.step).round() as u32;
        (0..=n).map(|place| self.from + self.step * f64::from(place))
    }

    fn label(&self, tick: f64) -> String {
        let digits = (-self.step.log10().floor()).clamp(0.0, 9.0) as usize;
        let text = format!("{tick:.digits$}");
        if text.trim_matches(['-', '0', '.']).is_empty() { "0".to_owned() } else { text }
    }
}

const STYLE: &str = "<style>
.paper{fill:#fff}.title{font:600 16px system-ui,sans-serif;fill:#1b1f24}.note{font:12px system-ui,sans-serif;fill:#57606a}
.tick{font:11px system-ui,sans-serif;fill:#1b1f24}.grid{stroke:#d0d7de;stroke-width:1}
polyline,line{fill:none;stroke-width:2}circle{stroke:none}
.c0{stroke:#0969da}.c1{stroke:#bc4c00}.c2{stroke:#1a7f37}.c3{stroke:#8250df}.c4{stroke:#bf3989}.c5{stroke:#6e7781}
circle.c0{fill:#0969da}circle.c1{fill:#bc4c00}circle.c2{fill:#1a7f37}circle.c3{fill:#8250df}circle.c4{fill:#bf3989}circle.c5{fill:#6e7781}
@media(prefers-color-scheme:dark){.paper{fill:#0d1117}.title,.tick{fill:#e6edf3}.note{fill:#9198a1}.grid{stroke:#3d444d}
.c0{stroke:#4493f8}.c1{stroke:#f0883e}.c2{stroke:#3fb950}.c3{stroke:#ab7df8}.c4{stroke:#db61a2}.c5{stroke:#9198a1}
circle.c0{fill:#4493f8}circle.c1{fill:#f0883e}circle.c2{fill:#3fb950}circle.c3{fill:#ab7df8}circle.c4{fill:#db61a2}circle.c5{fill:#9198a1}}
</style>";

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, points: &[(f64, Option<f64>)]) -> Line {
        Line { name: name.to_owned(), group: 0, points: points.to_vec() }
    }

    fn svg(lines: &[Line]) -> String {
        let notes = ["a < b".to_owned()];
        Curve { title: "t & u", notes: &notes, across: "matches", up: "loss", lines }.svg()
    }

    #[test]
    fn lines_have_gaps_where_numbers_are_missing() {
        let points = [(0.0, Some(0.69)), (100.0, Some(0.6)), (200.0, None), (300.0, Some(0.5))];
        let picture = svg(&[line("white", &points)]);
        assert_eq!((picture.matches("<polyline").count(), picture.matches("<circle").count()), (1, 1), "{picture}");
        assert!(
            picture.contains("t &amp; u") && picture.contains("a &lt; b") && picture.contains(">white<"),
            "{picture}"
        );
        // The ends of the scales are round.
        assert!(picture.contains(">0.70<") && picture.contains(">0.50<") && picture.contains(">300<"), "{picture}");
        assert_eq!(picture.matches("<title>").count(), 1);
    }

    #[test]
    fn nothing_and_one_value_can_be_drawn() {
        assert!(svg(&[]).contains("There is nothing to draw."));
        assert!(svg(&[line("a", &[(0.0, None)])]).contains("There is nothing to draw."));
        let flat = svg(&[line("a", &[(0.0, Some(0.25)), (10.0, Some(0.25))])]);
        assert!(flat.contains("<polyline") && !flat.contains("NaN") && !flat.contains("inf"), "{flat}");
    }

    #[test]
    fn scales_are_round() {
        let ticks = |numbers: &[f64]| {
            let scale = Scale::new(numbers.iter().copied());
            scale.ticks().map(|tick| scale.label(tick)).collect::<Vec<_>>()
        };
        assert_eq!(ticks(&[0.0, 1000.0]), ["0", "200", "400", "600", "800", "1000"]);
        assert_eq!(ticks(&[0.625, 0.69]), ["0.62", "0.63", "0.64", "0.65", "0.66", "0.67", "0.68", "0.69"]);
        assert_eq!(ticks(&[0.0, 0.0]), ["0", "0.02"]);
    }
}
