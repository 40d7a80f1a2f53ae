//! Matching many patterns while states change: cover propagation (after Kaneko, Yamaguchi and Kawai).
//!
//! Literals and patterns are nodes of a graph. A node is true when all of its sources are, and it counts how many of them are
//! still missing. When a fluent flips, only the counters behind nodes that flip are touched; the sum of the weights of all
//! true patterns is kept up on the way. Taking a move back is the same update the other way round.
//!
//! The fewer edges behind nodes that flip often, the faster. Sources of a pattern may be the largest patterns contained in it
//! instead of its literals ([`Settings::covers`]); of these, so few suffice that their literals together are the pattern's
//! ([`Settings::eliminate`]); and sources that many patterns have in common get a node of their own that stands for all of
//! them ([`Settings::extract`]), which is cube extraction in logic synthesis. Edges are weighed by how often their source was
//! seen to flip in played moves ([`Motion`]). A node that is read costs something whenever it flips, however few read it, so that
//! sharing too much is slow: in Othello, making every pattern a source of those that contain it walks the fewest edges and
//! is half as fast as sharing what many patterns have in common.

mod build;
mod matcher;
#[cfg(test)]
mod tests;

use build::Builder;
pub use matcher::Matcher;

use super::frequency::Positions;
use super::set::Patterns;

/// Which of the three ways to save edges are used.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Patterns have patterns as sources, not only literals; with `extract`, only those that others read, too.
    pub covers: bool,
    /// Only as many of them as are needed.
    pub eliminate: bool,
    /// Common sources are drawn together.
    pub extract: bool,
    /// The most nodes that may be added for that.
    pub extra_nodes: usize,
    /// The most patterns that are looked at to find those contained in one.
    pub subsets: usize,
}

impl Settings {
    /// All three.
    pub const ALL: Settings =
        Settings { covers: true, eliminate: true, extract: true, extra_nodes: 1_000_000, subsets: 20_000 };
    /// None of them: every pattern counts its literals.
    pub const PLAIN: Settings = Settings { covers: false, eliminate: false, extract: false, ..Settings::ALL };
}

/// A state before a move and the one after it.
pub type Change = (Box<[u64]>, Box<[u64]>);

/// States before and after moves, which tell how often a conjunction flips.
#[derive(Clone, Debug)]
pub struct Motion {
    before: Positions,
    after: Positions,
}

impl Motion {
    /// From moves that were made.
    pub fn new(n_fluents: usize, moves: &[Change]) -> Motion {
        Motion {
            before: Positions::new(n_fluents, moves.iter().map(|(before, _)| &before[..])),
            after: Positions::new(n_fluents, moves.iter().map(|(_, after)| &after[..])),
        }
    }
}

/// Patterns with weights, compiled for matching; shared between threads.
///
/// Nodes are numbered so that those that others read come first, and of these the restless ones, which keeps what is touched
/// all the time close together. A pattern with two sources that nobody reads is no node at all: it is a *pair*, noted at both of
/// its sources together with its weight, and matches when the one flips while the other is true. So most patterns need no
/// memory that changes.
#[derive(Clone, Debug)]
pub struct Cover {
    /// The node of each literal that occurs, by the literal's number.
    literals: Vec<u32>,
    /// The two sources of each pattern that is a pair; twice its node for the others.
    patterns: Vec<(u32, u32)>,
    /// How many sources each node has; 1 for literals.
    n_sources: Vec<u8>,
    weights: Vec<i32>,
    /// What is added always: the weight of the empty pattern.
    constant: i64,
    /// The nodes below this number are read by others.
    n_read: u32,
    /// Where begins what lies behind each node that is read; one more for the end.
    starts: Vec<Start>,
    /// Nodes that are read and have some node as a source.
    inner: Vec<u32>,
    /// Nodes that nobody reads, likewise.
    last: Vec<u32>,
    /// The other sources of pairs, and the weights of these.
    pairs: Vec<(u16, i16)>,
}

/// Places in the three arrays.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    inner: u32,
    last: u32,
    pairs: u32,
}

/// What lies behind one node, while it is being put together.
#[derive(Clone, Default)]
struct Behind {
    inner: Vec<u32>,
    last: Vec<u32>,
    pairs: Vec<(u16, i16)>,
}

const NONE: u32 = u32::MAX;

/// Sources of pairs have lower numbers than this.
const PAIRED: usize = 1 << 16;

impl Cover {
    /// Compiles patterns with their weights. Without motion every source is taken to flip equally often, and
    /// edges are saved sooner than time.
    ///
    /// # Panics
    /// If a pattern has more than 255 literals.
    pub fn build(patterns: &Patterns, weights: &[i32], motion: Option<&Motion>, settings: &Settings) -> Cover {
        let mut builder = Builder::new(patterns, motion);
        match (settings.extract, settings.covers) {
            (false, false) => {}
            (false, true) => builder.find_covers(patterns, settings),
            (true, covers) => {
                builder.extract(settings);
                builder.dissolve();
                if covers {
                    builder.substitute(settings);
                }
            }
        }
        if settings.eliminate {
            builder.eliminate();
        }
        Cover::lay_out(&builder, weights)
    }

    fn lay_out(builder: &Builder, weights: &[i32]) -> Cover {
        let nodes = &builder.nodes;
        // Step 1. What is needed, and what of it is read.
        let is_literal = |node: usize| node < builder.n_literals;
        let mut is_needed = vec![false; nodes.len()];
        let mut is_read = vec![false; nodes.len()];
        let mut open: Vec<u32> = builder.of_pattern.iter().copied().filter(|&node| node != NONE).collect();
        open.iter().for_each(|&node| is_needed[node as usize] = true);
        while let Some(node) = open.pop() {
            for &source in &nodes[node as usize].sources {
                is_read[source as usize] = true;
                if !std::mem::replace(&mut is_needed[source as usize], true) {
                    open.push(source);
                }
            }
        }
        // Step 2. Their places: what is read, the restless first; pairs have none; then the others.
        let mut order: Vec<usize> = (0..nodes.len()).filter(|&node| is_needed[node] && is_read[node]).collect();
        order.sort_by_key(|&node| std::cmp::Reverse(nodes[node].rate));
        let n_read = order.len();
        let mut place = vec![NONE; nodes.len()];
        order.iter().zip(0..).for_each(|(&node, number)| place[node] = number);
        let mut is_pair = vec![false; nodes.len()];
        for (&node, &weight) in builder.of_pattern.iter().zip(weights).filter(|(node, _)| **node != NONE) {
            let small = |source: &u32| (place[*source as usize] as usize) < PAIRED;
            let sources = &nodes[node as usize].sources;
            is_pair[node as usize] = !is_read[node as usize]
                && sources.len() == 2
                && sources.iter().all(small)
                && i16::try_from(weight).is_ok();
        }
        let others = |&node: &usize| is_needed[node] && !is_read[node] && !is_pair[node];
        let mut others: Vec<usize> = (0..nodes.len()).filter(others).collect();
        others.sort_by_key(|&node| &nodes[node].sources);
        order.append(&mut others);
        order.iter().zip(0..).for_each(|(&node, number)| place[node] = number);
        // Step 3. The edges.
        let mut behind = vec![Behind::default(); n_read];
        for &node in &order {
            for &source in &nodes[node].sources {
                let behind = &mut behind[place[source as usize] as usize];
                if is_read[node] { behind.inner.push(place[node]) } else { behind.last.push(place[node]) }
            }
        }
        let mut cover = Cover {
            literals: Vec::new(),
            patterns: Vec::new(),
            n_sources: order
                .iter()
                .map(|&node| if is_literal(node) { 1 } else { nodes[node].sources.len() as u8 })
                .collect(),
            weights: vec![0; order.len()],
            constant: 0,
            n_read: n_read as u32,
            starts: vec![Start::default()],
            inner: Vec::new(),
            last: Vec::new(),
            pairs: Vec::new(),
        };
        let place_of = |&node: &u32| if node == NONE { NONE } else { place[node as usize] };
        cover.literals = builder.of_literal.iter().map(place_of).collect();
        for (&node, &weight) in builder.of_pattern.iter().zip(weights) {
            if node == NONE {
                cover.constant += i64::from(weight);
                cover.patterns.push((NONE, NONE));
            } else if let [one, other] = nodes[node as usize].sources[..]
                && is_pair[node as usize]
            {
                let (one, other) = (place[one as usize], place[other as usize]);
                behind[one as usize].pairs.push((other as u16, weight as i16));
                behind[other as usize].pairs.push((one as u16, weight as i16));
                cover.patterns.push((one, other));
            } else {
                let place = place[node as usize];
                cover.weights[place as usize] = weight;
                cover.patterns.push((place, place));
            }
        }
        for mut behind in behind {
            behind.inner.sort_unstable();
            behind.last.sort_unstable();
            behind.pairs.sort_unstable();
            cover.inner.append(&mut behind.inner);
            cover.last.append(&mut behind.last);
            cover.pairs.append(&mut behind.pairs);
            let lengths = [cover.inner.len(), cover.last.len(), cover.pairs.len()].map(|len| len as u32);
            cover.starts.push(Start { inner: lengths[0], last: lengths[1], pairs: lengths[2] });
        }
        cover
    }

    /// How many nodes there are, literals and pairs included.
    pub fn n_nodes(&self) -> usize {
        self.n_sources.len() + self.pairs.len() / 2
    }

    /// How many edges there are.
    pub fn n_edges(&self) -> usize {
        self.inner.len() + self.last.len() + self.pairs.len()
    }

    /// How many edges lead into a pattern.
    pub fn n_sources(&self, pattern: u32) -> usize {
        match self.patterns[pattern as usize] {
            (NONE, _) => 0,
            (one, other) if one != other => 2,
            (node, _) => usize::from(self.n_sources[node as usize]),
        }
    }
}
