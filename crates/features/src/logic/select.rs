//! Selection as in the thesis: whole levels of the abstraction graph, as long as their cost allows.
//!
//! A feature is eligible if it matches neither too rarely nor nearly always (the sequential test of Buro), is no negation, does
//! not fall into independent parts and is cheap. What a feature costs is the caller's to say.

use super::generate::{Generated, is_negation};
use super::graph;
use crate::feature::Feature;
use crate::reference::Values;

/// What makes a feature too general.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum General {
    /// It matches nearly always.
    Matches,
    /// It has nearly always the same value.
    Constant,
}

/// What is selected.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The least and the greatest share of states that a feature matches.
    pub ratios: (f64, f64),
    /// How sure the sequential test has to be, in standard deviations.
    pub deviations: f64,
    /// What all selected features may cost in a state.
    pub max_cost: f64,
    /// What share of that one feature may cost.
    pub max_share: f64,
    /// When a feature is too general.
    pub general: General,
}

impl Settings {
    /// Those of the thesis; costs are in microseconds.
    pub const THESIS: Settings = Settings {
        ratios: (0.01, 0.99),
        deviations: 1.645,
        max_cost: 25_000.0,
        max_share: 0.03,
        general: General::Matches,
    };
}

/// Why a feature is not eligible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ineligible {
    /// It is a negation; the formula without it is a feature, too.
    Negation,
    /// It falls into independent parts, which are features, too.
    Splittable,
    /// It matches too rarely; seen after so many states.
    TooSpecial(usize),
    /// It matches, or has the same value, nearly always; seen after so many states.
    TooGeneral(usize),
    /// It costs too much.
    TooExpensive,
    /// Its value could not be found, or was not asked for any more.
    NoValue,
}

/// What is known of an eligible feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eligible {
    /// The share of states that it matches.
    pub ratio: f64,
    /// Its cost in a state.
    pub cost: f64,
    /// Its greatest value.
    pub max: i32,
}

/// What was selected.
#[derive(Clone, Debug)]
pub struct Selected {
    /// For each feature, what is known of it, or why it is not eligible.
    pub tested: Vec<Result<Eligible, Ineligible>>,
    /// The level of each feature in the whole graph.
    pub levels: Vec<u32>,
    /// The selected features, by level and then by number.
    pub features: Vec<usize>,
    /// The level of each selected feature among the selected ones.
    pub own_levels: Vec<u32>,
    /// What they cost together in a state.
    pub cost: f64,
}

/// Selects features; `values` are those on the large sample, `cost` says what a feature costs in a state. `progress` is told
/// how many were tested; if it returns `false`, the rest is not eligible.
pub fn select(
    settings: &Settings,
    generated: &Generated,
    values: &mut dyn Values,
    cost: &mut dyn FnMut(&Feature) -> f64,
    progress: &mut dyn FnMut(usize) -> bool,
) -> Selected {
    let n = generated.nodes.len();
    let mut tested = Vec::new();
    for node in &generated.nodes {
        if !progress(tested.len()) {
            break;
        }
        tested.push(test(settings, &node.feature, values, cost));
    }
    tested.resize(n, Err(Ineligible::NoValue));
    let levels = graph::levels(n, &generated.edges);
    let (features, cost) = whole_levels(settings, &levels, &tested);
    // The selected features alone have fewer levels.
    let mut place = vec![usize::MAX; n];
    features.iter().enumerate().for_each(|(at, &feature)| place[feature] = at);
    let edges: Vec<(usize, usize)> = generated
        .edges
        .iter()
        .filter(|&&(from, to)| place[from] != usize::MAX && place[to] != usize::MAX)
        .map(|&(from, to)| (place[from], place[to]))
        .collect();
    let own_levels = graph::levels(features.len(), &edges);
    Selected { tested, levels, features, own_levels, cost }
}

fn test(
    settings: &Settings,
    feature: &Feature,
    values: &mut dyn Values,
    cost: &mut dyn FnMut(&Feature) -> f64,
) -> Result<Eligible, Ineligible> {
    if is_negation(&feature.formula) {
        return Err(Ineligible::Negation);
    }
    if feature.formula.components().len() > 1 {
        return Err(Ineligible::Splittable);
    }
    let cost = cost(feature);
    if cost > settings.max_cost * settings.max_share {
        return Err(Ineligible::TooExpensive);
    }
    let values = values.values(feature).ok_or(Ineligible::NoValue)?;
    let ratio = test_values(settings, &values)?;
    Ok(Eligible { ratio, cost, max: values.iter().copied().max().unwrap_or(0) })
}

/// Tests the values one after the other, and stops as soon as enough is known. The share of states that match, if it is in
/// the window.
pub fn test_values(settings: &Settings, values: &[i32]) -> Result<f64, Ineligible> {
    let (low, high) = settings.ratios;
    let margin = |seen: f64, ratio: f64| settings.deviations * (seen * ratio * (1.0 - ratio)).sqrt();
    let mut matched = 0usize;
    for (at, &value) in values.iter().enumerate() {
        matched += usize::from(value != 0);
        let (seen, found) = ((at + 1) as f64, matched as f64);
        if found < seen * low - margin(seen, low) {
            return Err(Ineligible::TooSpecial(at + 1));
        }
        if settings.general == General::Matches && found >= seen * high + margin(seen, high) {
            return Err(Ineligible::TooGeneral(at + 1));
        }
    }
    let ratio = matched as f64 / values.len().max(1) as f64;
    if ratio < low {
        return Err(Ineligible::TooSpecial(values.len()));
    }
    let share = match settings.general {
        General::Matches => ratio,
        General::Constant => most_frequent(values) as f64 / values.len().max(1) as f64,
    };
    if share > high { Err(Ineligible::TooGeneral(values.len())) } else { Ok(ratio) }
}

/// How often the most frequent value occurs.
fn most_frequent(values: &[i32]) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).map(<[i32]>::len).max().unwrap_or(0)
}

/// The eligible features of whole levels, from the most abstract on, that cost less than is allowed. If the first level is
/// too expensive, its cheapest features.
fn whole_levels(settings: &Settings, levels: &[u32], tested: &[Result<Eligible, Ineligible>]) -> (Vec<usize>, f64) {
    let eligible = |at: usize| tested[at].ok();
    let mut selected: Vec<usize> = Vec::new();
    let mut total = 0.0;
    for level in 1..=levels.iter().copied().max().unwrap_or(0) {
        let mut members: Vec<usize> =
            (0..levels.len()).filter(|&at| levels[at] == level && eligible(at).is_some()).collect();
        let own: f64 = members.iter().filter_map(|&at| eligible(at)).map(|found| found.cost).sum();
        if total + own >= settings.max_cost {
            if selected.is_empty() {
                let price = |at: &usize| eligible(*at).map_or(0.0, |found| found.cost);
                members.sort_by(|a, b| price(a).total_cmp(&price(b)));
                for at in members {
                    if total + price(&at) >= settings.max_cost {
                        break;
                    }
                    total += price(&at);
                    selected.push(at);
                }
            }
            break;
        }
        total += own;
        selected.extend(members);
    }
    (selected, total)
}

#[cfg(test)]
mod tests {
    use super::super::generate::{self, tests::tic_tac_toe};
    use super::super::rules::Rules;
    use super::*;
    use crate::columns::Columns;
    use crate::reference::{Reference, intern};
    use gdl::program::Relation;
    use gdl::symbol::{Symbols, keyword};

    #[test]
    fn the_sequential_test_stops_early() {
        for (deviations, states) in [(0.95, 90), (1.645, 268)] {
            let settings = Settings { deviations, ..Settings::THESIS };
            assert_eq!(test_values(&settings, &[0; 3000]), Err(Ineligible::TooSpecial(states)));
            assert_eq!(test_values(&settings, &[1; 3000]), Err(Ineligible::TooGeneral(states)));
        }
        // At the end the window is hard: 29 of 3000 are too few, 30 are enough.
        let spread = |n: usize| (0..3000).map(|at| i32::from(at % 100 == 0 && at < n * 100)).collect::<Vec<_>>();
        assert_eq!(test_values(&Settings::THESIS, &spread(29)), Err(Ineligible::TooSpecial(3000)));
        assert_eq!(test_values(&Settings::THESIS, &spread(30)), Ok(0.01));
    }

    #[test]
    fn a_count_that_varies_is_not_general() {
        let material: Vec<i32> = (0..3000).map(|at| 8 + at % 5).collect();
        assert!(matches!(test_values(&Settings::THESIS, &material), Err(Ineligible::TooGeneral(_))));
        let settings = Settings { general: General::Constant, ..Settings::THESIS };
        assert_eq!(test_values(&settings, &material), Ok(1.0));
        assert_eq!(test_values(&settings, &[8; 3000]), Err(Ineligible::TooGeneral(3000)));
    }

    #[test]
    fn whole_levels_are_taken_while_they_are_cheap() {
        let tested: Vec<_> = (0..4).map(|at| Ok(Eligible { ratio: 0.5, cost: 10.0 + f64::from(at), max: 1 })).collect();
        let settings = Settings { max_cost: 40.0, ..Settings::THESIS };
        assert_eq!(whole_levels(&settings, &[1, 2, 2, 3], &tested).0, [0, 1, 2]);
        assert_eq!(whole_levels(&settings, &[1, 2, 2, 2], &tested).0, [0]);
        assert_eq!(whole_levels(&settings, &[1, 1, 1, 1], &tested).0, [0, 1, 2]);
    }

    /// The states as columns, with everything that depends on them.
    fn columns(rules: &Rules, states: &Reference) -> Columns {
        let mut database = gdl::Database::new(rules.program.clone(), Default::default()).expect("rules");
        let own: Vec<Vec<_>> = states
            .states()
            .iter()
            .map(|state| state.iter().map(|fluent| intern(&mut database.terms, fluent)).collect())
            .collect();
        let mut relations = vec![Relation { name: keyword::TRUE, arity: 1 }];
        for rule in &rules.program.rules {
            let relation = rule.head.relation();
            let wanted = !Symbols::is_keyword(relation.name) || relation.name == keyword::LEGAL;
            if wanted && !rules.is_move_dependent(relation) && !relations.contains(&relation) {
                relations.push(relation);
            }
        }
        Columns::by_rules(&mut database, &relations, &own).expect("within the budget")
    }

    #[test]
    fn tic_tac_toe_leaves_103_features() {
        let (generated, states, rules) = tic_tac_toe(1, &generate::Settings::THESIS);
        let mut columns = columns(&rules, &states);
        let selected = select(&Settings::THESIS, &generated, &mut columns, &mut |_| 10.0, &mut |_| true);
        let n = |test: fn(&Ineligible) -> bool| {
            selected.tested.iter().filter(|tested| tested.as_ref().is_err_and(test)).count()
        };
        assert_eq!(n(|why| *why == Ineligible::Splittable), 91);
        assert_eq!(n(|why| *why == Ineligible::Negation), 3);
        assert_eq!(n(|why| matches!(why, Ineligible::TooGeneral(_))), 1);
        assert_eq!(generated.nodes.len() - selected.features.len(), 103, "{:?}", n(|_| true));
        // Of what is selected, nothing is a negation, splittable, too rare or too frequent.
        for &feature in &selected.features {
            let found = selected.tested[feature].expect("it is eligible");
            assert!((0.01..=0.99).contains(&found.ratio) && found.cost <= 750.0);
        }
        // Whole levels, and edges that go down.
        for (from, to) in &generated.edges {
            assert!(selected.levels[*from] <= selected.levels[*to]);
        }
        // Where the special feature matches, the abstract one does.
        let mut matches: Vec<Vec<bool>> = Vec::new();
        for node in &generated.nodes {
            let values = columns.values(&node.feature).expect("it has values");
            matches.push(values.iter().map(|&value| value != 0).collect());
        }
        for &(general, special) in &generated.edges {
            assert!(matches[special].iter().zip(&matches[general]).all(|(special, general)| !special || *general));
        }
        assert!(generated.nodes.iter().all(|node| node.regressions <= 3));
    }

    /// Values one by one, with nothing that is known about bindings.
    struct OneByOne<'a>(&'a mut Columns);

    impl Values for OneByOne<'_> {
        fn values(&mut self, feature: &Feature) -> Option<Vec<i32>> {
            self.0.values(feature)
        }
    }

    #[test]
    fn bindings_tell_which_variables_make_a_difference() {
        let (generated, states, rules) = tic_tac_toe(1, &generate::Settings::THESIS);
        let mut columns = columns(&rules, &states.choose(100, 3));
        let mut n_dropped = 0;
        for node in &generated.nodes {
            let list = super::super::simplify::bound_variables(&node.feature.formula).into_iter().collect();
            let whole = Feature { list, ..node.feature.clone() };
            let trimmed = columns.trim(&whole).expect("it has values");
            assert_eq!(Some(&trimmed), OneByOne(&mut columns).trim(&whole).as_ref());
            assert_eq!(columns.without_each(&whole), OneByOne(&mut columns).without_each(&whole));
            n_dropped += whole.list.len() - trimmed.list.len();
        }
        assert!(n_dropped > 50, "{n_dropped}");
    }
}
