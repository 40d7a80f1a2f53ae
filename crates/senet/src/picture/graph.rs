//! The abstraction graph: features by level, the abstract ones to the left, chosen ones marked.

use std::collections::BTreeSet;

use features::construct::AbstractionGraph;

use super::{escape, number, put, shorten};

/// Graphs with more nodes are drawn in part.
const MAX_WHOLE: usize = 150;
/// At most so many nodes are drawn.
const MAX_NODES: usize = 400;
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 22.0;
const GAP: f64 = 90.0;
const LETTERS: usize = 42;

/// The part of a graph that is drawn.
struct Part {
    /// Nodes, by their places in the graph, for each level.
    levels: Vec<(u32, Vec<usize>)>,
    edges: Vec<(usize, usize)>,
    /// What is left out, in words.
    note: Option<String>,
}

impl Part {
    fn new(graph: &AbstractionGraph) -> Part {
        let n = graph.nodes.len();
        let mut drawn: BTreeSet<usize> = (0..n).collect();
        if n > MAX_WHOLE {
            let chosen: BTreeSet<usize> = (0..n).filter(|&node| graph.nodes[node].2).collect();
            let touches = |&&(a, b): &&(usize, usize)| chosen.contains(&a) || chosen.contains(&b);
            let near = graph.edges.iter().filter(touches).flat_map(|&(a, b)| [a, b]);
            drawn = chosen.iter().copied().chain(near.take(MAX_NODES.saturating_sub(chosen.len()))).collect();
            drawn = drawn.into_iter().take(MAX_NODES).collect();
        }
        let note =
            (drawn.len() < n).then(|| format!("{} of {n} features: the chosen ones and their neighbours", drawn.len()));
        let mut levels: Vec<u32> = drawn.iter().map(|&node| graph.nodes[node].1).collect();
        levels.sort_unstable();
        levels.dedup();
        let is_drawn = |&&(a, b): &&(usize, usize)| drawn.contains(&a) && drawn.contains(&b);
        let edges: Vec<(usize, usize)> = graph.edges.iter().filter(is_drawn).copied().collect();
        let of_level =
            |&level: &u32| (level, drawn.iter().copied().filter(|&node| graph.nodes[node].1 == level).collect());
        let mut part = Part { levels: levels.iter().map(of_level).collect(), edges, note };
        part.untangle();
        part
    }

    /// Orders each level by the mean place of the neighbours in the level before, there and back a few times.
    fn untangle(&mut self) {
        let n = self.levels.len();
        for round in 0..6 {
            let order: Vec<usize> =
                if round % 2 == 0 { (1..n).collect() } else { (0..n.saturating_sub(1)).rev().collect() };
            for level in order {
                let fixed = if round % 2 == 0 { level - 1 } else { level + 1 };
                let place = |node: usize| self.levels[fixed].1.iter().position(|&other| other == node);
                let mut keyed: Vec<(f64, usize)> = Vec::new();
                for (own, &node) in self.levels[level].1.iter().enumerate() {
                    let others = self.edges.iter().filter_map(|&(a, b)| match node {
                        _ if a == node => place(b),
                        _ if b == node => place(a),
                        _ => None,
                    });
                    let (n, sum) = others.fold((0, 0), |(n, sum), place| (n + 1, sum + place));
                    keyed.push((if n == 0 { own as f64 } else { sum as f64 / n as f64 }, node));
                }
                keyed.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
                self.levels[level].1 = keyed.into_iter().map(|(_, node)| node).collect();
            }
        }
    }
}

/// The graph as a picture that stands alone. `text` writes a node.
pub(crate) fn svg(graph: &AbstractionGraph, title: &str, text: &dyn Fn(usize) -> String) -> String {
    let part = Part::new(graph);
    let tallest = part.levels.iter().map(|(_, nodes)| nodes.len()).max().unwrap_or(0).max(1);
    let width = part.levels.len().max(1) as f64 * (WIDTH + GAP) - GAP + 40.0;
    let height = tallest as f64 * (HEIGHT + 8.0) + 90.0;
    let mut places = std::collections::BTreeMap::new();
    for (column, (_, nodes)) in part.levels.iter().enumerate() {
        let top = 70.0 + (tallest - nodes.len()) as f64 * (HEIGHT + 8.0) / 2.0;
        for (row, &node) in nodes.iter().enumerate() {
            places.insert(node, (20.0 + column as f64 * (WIDTH + GAP), top + row as f64 * (HEIGHT + 8.0)));
        }
    }
    let mut picture = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}" role="img" aria-label="{}">"#,
        number(width),
        number(height),
        number(width),
        number(height),
        escape(title)
    );
    picture.push_str(STYLE);
    put(
        &mut picture,
        format_args!(
            r#"<rect class="paper" width="100%" height="100%"/><text class="title" x="20" y="24">{}</text>"#,
            escape(title)
        ),
    );
    let note = match (&part.note, graph.nodes.is_empty()) {
        (_, true) => "There are no logical features.".to_owned(),
        (Some(note), _) => format!("Shown: {note}."),
        (None, _) => {
            "Abstract features to the left, special ones to the right; chosen ones have a thick frame.".to_owned()
        }
    };
    put(&mut picture, format_args!(r#"<text class="note" x="20" y="42">{}</text>"#, escape(&note)));
    for (column, (level, _)) in part.levels.iter().enumerate() {
        let x = number(20.0 + column as f64 * (WIDTH + GAP));
        put(&mut picture, format_args!(r#"<text class="note" x="{x}" y="60">level {level}</text>"#));
    }
    for (a, b) in &part.edges {
        let ((x1, y1), (x2, y2)) = (places[a], places[b]);
        // From the right side of the one further left.
        let ((x1, y1), (x2, y2)) = if x1 <= x2 { ((x1, y1), (x2, y2)) } else { ((x2, y2), (x1, y1)) };
        let (from, to) = (x1 + WIDTH, x2);
        let [from, y1, middle, y2, to] =
            [from, y1 + HEIGHT / 2.0, (from + to) / 2.0, y2 + HEIGHT / 2.0, to].map(number);
        put(
            &mut picture,
            format_args!(r#"<path class="edge" d="M{from} {y1}C{middle} {y1} {middle} {y2} {to} {y2}"/>"#),
        );
    }
    for (&node, &(x, y)) in &places {
        let full = text(node);
        let class = if graph.nodes[node].2 { "chosen" } else { "node" };
        let [x, y, tx, ty] = [x, y, x + 8.0, y + 15.0].map(number);
        put(
            &mut picture,
            format_args!(
                r#"<g><title>{}</title><rect class="{class}" x="{x}" y="{y}" rx="4" width="{WIDTH}" height="{HEIGHT}"/><text class="text" x="{tx}" y="{ty}">{}</text></g>"#,
                escape(&full),
                escape(&shorten(&full, LETTERS))
            ),
        );
    }
    picture + "</svg>\n"
}

const STYLE: &str = "<style>
.paper{fill:#fff}.title{font:600 16px system-ui,sans-serif;fill:#1b1f24}.note{font:12px system-ui,sans-serif;fill:#57606a}
.text{font:11px ui-monospace,monospace;fill:#1b1f24}.node{fill:#f6f8fa;stroke:#afb8c1}
.chosen{fill:#ddf4ff;stroke:#0969da;stroke-width:2.5}.edge{fill:none;stroke:#8c959f;stroke-width:1;opacity:.7}
@media(prefers-color-scheme:dark){.paper{fill:#0d1117}.title,.text{fill:#e6edf3}.note{fill:#9198a1}
.node{fill:#161b22;stroke:#3d444d}.chosen{fill:#0c2d6b;stroke:#4493f8}.edge{stroke:#6e7681}}
</style>";

/// The graph in the language of Graphviz.
pub(crate) fn dot(graph: &AbstractionGraph, title: &str, text: &dyn Fn(usize) -> String) -> String {
    let part = Part::new(graph);
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let label = part.note.as_ref().map_or(title.to_owned(), |note| format!("{title}: {note}"));
    let mut out = format!(
        "digraph features {{\n  rankdir=LR;\n  label={};\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n",
        quoted(&label)
    );
    for (level, nodes) in &part.levels {
        put(&mut out, format_args!("  subgraph level{level} {{\n    rank=same;\n"));
        for &node in nodes {
            let chosen = if graph.nodes[node].2 { ", style=\"filled,bold\", fillcolor=\"#ddf4ff\"" } else { "" };
            put(&mut out, format_args!("    n{node} [label={}{chosen}];\n", quoted(&text(node))));
        }
        out.push_str("  }\n");
    }
    part.edges.iter().for_each(|(a, b)| put(&mut out, format_args!("  n{a} -> n{b};\n")));
    out + "}\n"
}

#[cfg(test)]
mod tests {
    use features::feature::Feature;
    use features::formula::Formula;

    use super::*;

    /// `n` features in two levels; each of the second is below one of the first, and the first of all is chosen.
    fn graph(n: usize) -> AbstractionGraph {
        let feature = || Feature::count(Vec::new(), Formula::truth());
        let half = n / 2;
        AbstractionGraph {
            nodes: (0..n).map(|node| (feature(), 1 + u32::from(node >= half), node == 0)).collect(),
            edges: (half..n).map(|node| (node - half, node)).collect(),
        }
    }

    #[test]
    fn small_graphs_are_drawn_whole_and_large_ones_around_what_is_chosen() {
        let name = |node: usize| format!("feature \"{node}\" <");
        let small = svg(&graph(10), "a & b", &name);
        assert_eq!((small.matches("class=\"edge\"").count(), small.matches("<title>").count()), (5, 10));
        assert_eq!(small.matches("class=\"chosen\"").count(), 1);
        assert!(small.contains("a &amp; b") && small.contains("feature &quot;3&quot; &lt;"), "{small}");
        let large = svg(&graph(1000), "large", &name);
        assert!(large.contains("2 of 1000 features") && large.matches("<title>").count() == 2, "{large}");
        let empty = svg(&graph(0), "none", &name);
        assert!(empty.contains("There are no logical features."));
    }

    #[test]
    fn dot_has_all_nodes_and_edges() {
        let text = dot(&graph(4), "g", &|node| format!("f\"{node}"));
        assert_eq!(text.matches(" -> ").count(), 2);
        assert!(text.contains(r#"n0 [label="f\"0", style="filled,bold""#), "{text}");
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }
}
