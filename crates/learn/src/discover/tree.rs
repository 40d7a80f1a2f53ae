//! Decision trees by gain ratio (Quinlan 1993), over columns of bits.
//!
//! Every attribute is true or false. A third of the examples takes no part in growing a tree; it says afterwards what
//! the nodes are worth.

use features::structural::fuzzy::compile::End;
use machine::lanes::count::Counter;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use super::label::{CLASSES, N_CLASSES, number};

/// How many examples of each class there are.
pub type Counts = [u32; N_CLASSES];

/// Examples as columns of bits.
#[derive(Clone, Debug, Default)]
pub struct Table {
    n_words: usize,
    classes: Vec<End>,
    columns: Vec<Vec<u64>>,
}

impl Table {
    /// Examples with these classes and no attributes yet.
    pub fn new(classes: Vec<End>) -> Table {
        Table { n_words: classes.len().div_ceil(64), classes, columns: Vec::new() }
    }

    /// Adds an attribute, given whether it holds in each example.
    pub fn push(&mut self, holds: impl IntoIterator<Item = bool>) {
        let mut column = vec![0; self.n_words];
        holds.into_iter().enumerate().for_each(|(row, holds)| column[row / 64] |= u64::from(holds) << (row % 64));
        self.columns.push(column);
    }

    /// How many examples there are.
    pub fn n_rows(&self) -> usize {
        self.classes.len()
    }

    /// Whether an attribute holds in an example.
    pub fn holds(&self, row: usize, attribute: usize) -> bool {
        self.columns[attribute][row / 64] >> (row % 64) & 1 == 1
    }

    fn mask(&self, rows: impl IntoIterator<Item = usize>) -> Vec<u64> {
        let mut mask = vec![0; self.n_words];
        rows.into_iter().for_each(|row| mask[row / 64] |= 1 << (row % 64));
        mask
    }
}

/// A node of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The node above, and whether its attribute holds here; nothing at the root.
    pub above: Option<(usize, bool)>,
    /// The attribute that is asked for, and the nodes where it holds and where not; nothing at a leaf.
    pub split: Option<Split>,
    /// The examples that came here while the tree grew.
    pub grown: Counts,
    /// The examples that were held out and come here.
    pub held_out: Counts,
    /// At a leaf, the most frequent class of the examples that it grew from; elsewhere, that of those held out.
    pub class: End,
    /// The part of the examples held out that is classified rightly from here on. Where none of them comes, the same of
    /// the examples that the tree grew from.
    pub certainty: f64,
}

/// A question at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The attribute.
    pub attribute: usize,
    /// The node where it holds.
    pub yes: usize,
    /// The node where it does not.
    pub no: usize,
}

/// A decision tree. The root comes first, and nodes before those below them.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// How a tree grows.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many examples both sides of a split must have.
    pub least: u32,
    /// Which third is held out.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { least: 64, seed: 1 }
    }
}

/// Grows a tree from two thirds of the examples and judges it by the rest.
pub fn grow(table: &Table, settings: &Settings) -> Tree {
    let mut rows: Vec<usize> = (0..table.n_rows()).collect();
    rows.shuffle(&mut Pcg64Mcg::seed_from_u64(settings.seed));
    let (held_out, grown) = rows.split_at(rows.len() / 3);
    grow_from(table, grown, held_out, settings.least)
}

/// Grows a tree from some examples and judges it by others.
pub fn grow_from(table: &Table, grown: &[usize], held_out: &[usize], least: u32) -> Tree {
    let of_class = |rows: &[usize]| {
        CLASSES.map(|class| table.mask(rows.iter().copied().filter(|&row| table.classes[row] == class)))
    };
    let mut nodes = Vec::new();
    let mut open = vec![(None, of_class(grown), of_class(held_out))];
    while let Some((above, grown, held_out)) = open.pop() {
        let place = nodes.len();
        if let Some((parent, side)) = above {
            let node: &mut Node = &mut nodes[parent];
            let split = node.split.as_mut().expect("a node above asks for something");
            *(if side { &mut split.yes } else { &mut split.no }) = place;
        }
        let count = |masks: &[Vec<u64>; N_CLASSES]| masks.each_ref().map(|mask| Counter::detect().count(mask));
        let mut node = Node {
            above,
            split: None,
            grown: count(&grown),
            held_out: count(&held_out),
            class: End::Drawn,
            certainty: 0.0,
        };
        if let Some(attribute) = best(table, &grown, node.grown, least) {
            node.split = Some(Split { attribute, yes: 0, no: 0 });
            let column = &table.columns[attribute];
            let part = |masks: &[Vec<u64>; N_CLASSES], side: bool| {
                let flip = if side { 0 } else { !0 };
                masks.each_ref().map(|mask| mask.iter().zip(column).map(|(mask, held)| mask & (held ^ flip)).collect())
            };
            for side in [false, true] {
                open.push((Some((place, side)), part(&grown, side), part(&held_out, side)));
            }
        }
        nodes.push(node);
    }
    judge(&mut nodes);
    Tree { nodes }
}

/// Sets the classes and certainties of all nodes.
fn judge(nodes: &mut [Node]) {
    // Of each node: how many examples are classified rightly by the leaves below it, held out and not.
    let mut right = vec![[0u32; 2]; nodes.len()];
    for place in (0..nodes.len()).rev() {
        let node = &mut nodes[place];
        let judges = if total(node.held_out) > 0 { node.held_out } else { node.grown };
        match node.split {
            None => {
                node.class = most_frequent(node.grown, node.grown);
                let own = number(node.class);
                right[place] = [node.held_out[own], node.grown[own]];
            }
            Some(split) => {
                node.class = most_frequent(judges, node.grown);
                right[place] = [0, 1].map(|which| right[split.yes][which] + right[split.no][which]);
            }
        }
        let rightly = right[place][usize::from(total(node.held_out) == 0)];
        node.certainty = f64::from(rightly) / f64::from(total(judges).max(1));
    }
}

/// The class of which there are most; of several, that of which there are most among others.
fn most_frequent(counts: Counts, among: Counts) -> End {
    let best = (0..N_CLASSES).max_by_key(|&class| (counts[class], among[class], N_CLASSES - class));
    CLASSES[best.expect("there are classes")]
}

/// The attribute with the greatest gain ratio of those that gain at least as much as the mean and leave enough examples
/// on both sides; the first of several.
fn best(table: &Table, masks: &[Vec<u64>; N_CLASSES], here: Counts, least: u32) -> Option<usize> {
    if here.iter().filter(|&&count| count > 0).count() < 2 {
        return None;
    }
    let counter = Counter::detect();
    let (mut found, mut sum) = (Vec::new(), 0.0);
    for (attribute, column) in table.columns.iter().enumerate() {
        let yes = masks.each_ref().map(|mask| counter.and_count(mask, column));
        if total(yes) < least.max(1) || total(here) - total(yes) < least.max(1) {
            continue;
        }
        let gain = gain(here, yes);
        if gain > 1e-9 {
            sum += gain;
            found.push((attribute, gain, gain_ratio(here, yes)));
        }
    }
    let mean = sum / found.len() as f64;
    let mut best: Option<(usize, f64)> = None;
    for (attribute, gain, ratio) in found {
        if gain >= mean - 1e-9 && best.is_none_or(|(_, other)| ratio > other) {
            best = Some((attribute, ratio));
        }
    }
    best.map(|(attribute, _)| attribute)
}

fn total(counts: Counts) -> u32 {
    counts.iter().sum()
}

/// The information in bits that the class of one of these examples has.
pub fn entropy(counts: &[u32]) -> f64 {
    let all: u32 = counts.iter().sum();
    let part = |&count: &u32| {
        let share = f64::from(count) / f64::from(all);
        if count == 0 { 0.0 } else { -share * share.log2() }
    };
    counts.iter().map(part).sum()
}

/// How much less information the class has once it is known which examples are among those of `yes`.
pub fn gain(here: Counts, yes: Counts) -> f64 {
    let no = std::array::from_fn(|class| here[class] - yes[class]);
    let part = |side: Counts| f64::from(total(side)) / f64::from(total(here)) * entropy(&side);
    entropy(&here) - part(yes) - part(no)
}

/// The gain as a part of the information that the split itself has.
pub fn gain_ratio(here: Counts, yes: Counts) -> f64 {
    gain(here, yes) / entropy(&[total(yes), total(here) - total(yes)])
}

impl Tree {
    /// The leaf of an example, given whether an attribute holds in it.
    pub fn leaf(&self, holds: impl Fn(usize) -> bool) -> usize {
        let mut place = 0;
        while let Some(split) = self.nodes[place].split {
            place = if holds(split.attribute) { split.yes } else { split.no };
        }
        place
    }

    /// The places of the leaves.
    pub fn leaves(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(|&place| self.nodes[place].split.is_none())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;

    #[test]
    fn information_by_hand() {
        assert!((entropy(&[9, 5]) - 0.940_285_958_670_631_1).abs() < 1e-9);
        // Fourteen examples, of which six of the nine and two of the five are on one side.
        let (here, yes) = ([9, 5, 0], [6, 2, 0]);
        assert!((gain(here, yes) - 0.048_127_030_408_27).abs() < 1e-9, "{}", gain(here, yes));
        assert!((gain_ratio(here, yes) - 0.048_848_615_511_52).abs() < 1e-9, "{}", gain_ratio(here, yes));
        assert_eq!(entropy(&[4, 0, 0]), 0.0);
        assert!((entropy(&[1, 1, 1]) - 3f64.log2()).abs() < 1e-12);
    }

    /// A class that depends on two attributes of three: won if the second is x, or is y while the third is m.
    #[test]
    fn a_small_table_is_learned_without_error() {
        let rows = [(0, 'x', 'm'), (1, 'x', 'n'), (0, 'y', 'm'), (1, 'y', 'n')];
        let rows = rows.into_iter().chain([(0, 'y', 'n'), (1, 'z', 'm'), (0, 'z', 'n'), (1, 'y', 'm')]);
        let rows: Vec<(u8, char, char)> = rows.collect();
        let class = |&(_, b, c): &(u8, char, char)| b == 'x' || b == 'y' && c == 'm';
        let end = |row: &_| if class(row) { End::Won } else { End::Lost };
        let mut table = Table::new(rows.iter().map(end).collect());
        table.push(rows.iter().map(|row| row.0 == 1));
        "xyz".chars().for_each(|value| table.push(rows.iter().map(|row| row.1 == value)));
        table.push(rows.iter().map(|row| row.2 == 'm'));
        let all: Vec<usize> = (0..rows.len()).collect();
        let tree = grow_from(&table, &all, &[], 1);
        for (number, row) in rows.iter().enumerate() {
            let leaf = tree.leaf(|attribute| table.holds(number, attribute));
            assert_eq!(tree.nodes[leaf].class, end(row));
        }
        // Nothing was held out, so that the tree is judged by what it grew from.
        assert_eq!(tree.nodes[0].certainty, 1.0);
    }

    #[test]
    fn nodes_are_judged_by_what_was_held_out() {
        // The attribute tells won from lost, but not in the examples held out.
        let [w, l] = [End::Won, End::Lost];
        let mut table = Table::new(vec![w, w, w, l, l, l, l, l, l, w]);
        table.push([true, true, true, false, false, false, true, true, true, false]);
        let tree = grow_from(&table, &[0, 1, 2, 3, 4, 5], &[6, 7, 8, 9], 1);
        let split = tree.nodes[0].split.expect("a split");
        let seen = |place: usize| (tree.nodes[place].class, tree.nodes[place].certainty);
        assert_eq!((seen(0), seen(split.yes), seen(split.no)), ((l, 0.0), (w, 0.0), (l, 0.0)));
        assert_eq!(tree.nodes[split.yes].held_out, [0, 3, 0]);
    }

    #[test]
    fn attributes_that_gain_little_do_not_compete() {
        // The first attribute is of the greatest ratio but gains less than the mean of all three.
        let mut table = Table::new((0..64).map(|row| if row < 32 { End::Won } else { End::Lost }).collect());
        table.push((0..64).map(|row| row == 0));
        table.push((0..64).map(|row| !(20..62).contains(&row)));
        table.push((0..64).map(|row| !(20..62).contains(&row)));
        let all: Vec<usize> = (0..64).collect();
        assert_eq!(grow_from(&table, &all, &[], 1).nodes[0].split.expect("a split").attribute, 1);
    }

    fn random_table(seed: u64, n_rows: usize) -> Table {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut table = Table::new((0..n_rows).map(|_| CLASSES[random.random_range(0..N_CLASSES)]).collect());
        for _ in 0..20 {
            let share = random.random::<f64>();
            table.push((0..n_rows).map(|_| random.random_bool(share)));
        }
        table
    }

    #[test]
    fn larger_leaves_make_smaller_trees() {
        let table = random_table(3, 3_000);
        let n_nodes = |least| grow(&table, &Settings { least, seed: 1 }).nodes.len();
        assert!(n_nodes(64) < n_nodes(32) && n_nodes(32) < n_nodes(8));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn splits_leave_enough_on_both_sides(seed in 0..1_000u64, least in 1..40u32) {
            let table = random_table(seed, 300);
            let tree = grow(&table, &Settings { least, seed });
            prop_assert_eq!(total(tree.nodes[0].grown) + total(tree.nodes[0].held_out), 300);
            prop_assert_eq!(total(tree.nodes[0].held_out), 100);
            for (place, node) in tree.nodes.iter().enumerate() {
                prop_assert!((0.0..=1.0).contains(&node.certainty));
                let Some(split) = node.split else { continue };
                for (below, side) in [(split.yes, true), (split.no, false)] {
                    prop_assert_eq!(tree.nodes[below].above, Some((place, side)));
                    prop_assert!(total(tree.nodes[below].grown) >= least);
                }
                let sum = |counts: fn(&Node) -> Counts| total(counts(&tree.nodes[split.yes])) + total(counts(&tree.nodes[split.no]));
                prop_assert_eq!(sum(|node| node.grown), total(node.grown));
                prop_assert_eq!(sum(|node| node.held_out), total(node.held_out));
            }
        }
    }
}
