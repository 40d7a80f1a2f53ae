//! `senet analyze`: what the rules of a game say, beyond what they say literally.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use insight::analysis::{Analysis, BoardReport, Dependence, Estimate, Settings, analyze};
use insight::structure::Evidence;

use super::learn::read_duration;
use crate::guard;
use crate::memory;
use crate::rules::{self, Rules};
use crate::screen;

/// Reads a game's structure out of its rules: board, pieces, turns, numbers, symmetries
///
/// Names mean nothing to it: a scrambled copy of a game has the same analysis. Each finding says whether it is proved for
/// every state that can be reached, or in how many sampled states it was seen. Numbers come from random play, with 95 %
/// confidence intervals.
///
/// Examples:
///   senet analyze connect-four
///   senet analyze my-game.kif --relations     every relation, too
///   senet analyze chess --json | jq .boards
///   senet scramble hex-7 --seed 1 | senet analyze -
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Analyze {
    /// A rule file, the name of a library game, or `-` for standard input
    rules: String,
    /// The seed of the random matches
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Lists every relation with its domains, and what excludes what
    #[arg(long)]
    relations: bool,
    /// How long it may take, such as 90s, 5m or 2h; then it says how far it came
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = read_duration)]
    time: Duration,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// Does not remember the game and what was found
    #[arg(long)]
    no_remember: bool,
    /// The memory, instead of the usual file
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

pub(crate) fn run(arguments: Analyze) -> anyhow::Result<ExitCode> {
    let _time = guard::within(arguments.time);
    let rules = rules::read(&arguments.rules)?;
    rules::accept(&rules)?;
    let settings = Settings { seed: arguments.seed, ..Settings::default() }.until(&guard::stop());
    let analysis =
        analyze(&rules.program, &settings).map_err(|reason| anyhow!("`{}`: {reason}", rules.source.name()))?;
    // What was stopped is not worth keeping: the next time may find more.
    if !arguments.no_remember && !analysis.stopped {
        remember(&rules, &analysis, arguments.store, &settings)?;
    }
    let mut out = screen::out();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&analysis)?)?;
    } else {
        write!(out, "{}", report(&rules.game_name(), &analysis, arguments.relations))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Keeps the game, and what was found in it, unless the memory has that already.
fn remember(rules: &Rules, analysis: &Analysis, store: Option<PathBuf>, settings: &Settings) -> anyhow::Result<()> {
    let mut store = memory::open(store)?;
    let Some(met) = arena::meet_until((*rules.program).clone(), &guard::stop()) else { return Ok(()) };
    arena::remember(&mut store, &met, &rules.game_name(), rules.source.text(), memory::now())?;
    let Some(game) = store.find(met.fingerprint())? else { return Ok(()) };
    if game.structures.is_some() {
        return Ok(());
    }
    // What is stored is told in the names of the rules that are stored.
    let told = if game.rules == rules.source.text() {
        analysis.clone()
    } else {
        let stored = gdl::read(&game.name, game.rules.as_bytes());
        analyze(&stored.program, settings).map_err(|reason| anyhow!("`{}`: {reason}", game.name))?
    };
    let symmetries = serde_json::to_string(&told.symmetries)?;
    let structures = serde_json::to_string(&Analysis { symmetries: None, ..told })?;
    Ok(store.describe(met.fingerprint(), &structures, &symmetries)?)
}

/// The report for people.
fn report(name: &str, analysis: &Analysis, relations: bool) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = summary(&mut text, name, analysis);
    if analysis.stopped {
        text.push_str("  stopped   before its time: there may be more to find, and less to count on\n");
    }
    analysis.boards.iter().for_each(|board| _ = self::board(&mut text, board));
    let _ = rest(&mut text, analysis);
    if relations {
        let _ = self::relations(&mut text, analysis);
    }
    text
}

fn why(evidence: Evidence) -> String {
    match evidence {
        Evidence::Proved => "proved".to_owned(),
        Evidence::Seen(states) => format!("seen in {states} samples"),
    }
}

fn estimate(estimate: &Estimate, unit: &str) -> String {
    let scale = if unit == "%" { 100.0 } else { 1.0 };
    match estimate.margin {
        // Two digits of the margin are enough, and more of the mean would only pretend.
        Some(margin) => {
            let digits = if margin * scale >= 1.0 {
                1
            } else if margin * scale >= 0.1 {
                2
            } else {
                3
            };
            format!("{:.digits$}{unit} ± {:.digits$}", estimate.mean * scale, margin * scale)
        }
        None => format!("{:.1}{unit}", estimate.mean * scale),
    }
}

fn list(items: &[String]) -> String {
    const SHOWN: usize = 12;
    if items.len() <= SHOWN {
        return items.join(" ");
    }
    format!("{} ... {} ({} in all)", items[..SHOWN - 2].join(" "), items[items.len() - 1], items.len())
}

fn summary(text: &mut String, name: &str, analysis: &Analysis) -> std::fmt::Result {
    let turns = &analysis.turns;
    let n = analysis.roles.len();
    writeln!(text, "{name}: {} game for {n} {}", turns.kind, if n == 1 { "role" } else { "roles" })?;
    if n > 1 {
        writeln!(text, "  turns     {} ({})", turns.kind, why(turns.evidence))?;
    }
    for (index, role) in analysis.roles.iter().enumerate() {
        let mut facts = Vec::new();
        if turns.first.contains(role) && n > 1 && turns.first.len() < n {
            facts.push("begins".to_owned());
        }
        if let Some((_, fluents)) = turns.control.iter().find(|(of, _)| of == role) {
            facts.push(format!("moves when {}", list(fluents)));
        }
        if let Some((_, moves)) = turns.idle_moves.iter().find(|(of, _)| of == role) {
            facts.push(format!("otherwise {}", list(moves)));
        }
        let label = if index == 0 { "roles" } else { "" };
        writeln!(text, "  {label:<9} {role}{}{}", if facts.is_empty() { "" } else { ": " }, facts.join("; "))?;
    }
    let outcome = &analysis.outcome;
    if outcome.teams.iter().any(|team| team.len() > 1) {
        let teams: Vec<String> = outcome.teams.iter().map(|team| team.join(" + ")).collect();
        writeln!(text, "  teams     {} ({})", teams.join(" against "), why(outcome.teams_evidence))?;
    }
    if n > 1 {
        match outcome.constant_sum {
            Some((sum, evidence)) => writeln!(text, "  results   always add up to {sum} ({})", why(evidence))?,
            None => writeln!(text, "  results   have no constant sum")?,
        }
    }
    for (role, values) in &outcome.goal_values {
        let values: Vec<String> = values.iter().map(i64::to_string).collect();
        writeln!(text, "            {role}: {}", list(&values))?;
    }
    Ok(())
}

fn board(text: &mut String, board: &BoardReport) -> std::fmt::Result {
    writeln!(text, "\nBoard: {}", board.shape)?;
    for layer in &board.layers {
        let mut facts = Vec::new();
        facts.extend(layer.one_per_cell.map(|evidence| format!("a cell holds one thing: {}", why(evidence))));
        facts.extend(layer.one_cell_each.map(|evidence| format!("a thing is in one cell: {}", why(evidence))));
        writeln!(text, "  {}{}{}", layer.mode, if facts.is_empty() { "" } else { "  " }, facts.join("; "))?;
    }
    for (index, axis) in board.axes.iter().enumerate() {
        let order = match (&axis.order, axis.cyclic) {
            (Some(order), false) => format!("in the order of `{order}`"),
            (Some(order), true) => format!("in the circle of `{order}`"),
            (None, _) => "without order".to_owned(),
        };
        let mut values = axis.values.clone();
        if axis.order.is_none() {
            values.sort_by_key(|value| (value.len(), value.clone()));
        }
        writeln!(text, "  coordinate {}: {}, {order}", index + 1, list(&values))?;
    }
    if let Some(neighbours) = &board.neighbours {
        let (n, relation, degree) = (neighbours.pairs.len(), &neighbours.relation, neighbours.max_degree);
        let ways = if neighbours.symmetric { "both ways" } else { "one way" };
        writeln!(text, "  neighbours by `{relation}`: {n} pairs, {ways}, at most {degree} of a cell")?;
    }
    let symbols = symbols(board);
    draw(text, board, &symbols)?;
    for (marker, symbol) in board.markers.iter().zip(&symbols) {
        let mut facts = Vec::new();
        if marker.blank {
            facts.push("nothing is there".to_owned());
        }
        facts.extend(marker.owner.as_ref().map(|owner| format!("of {owner}")));
        facts.extend(marker.piece.map(|evidence| format!("a piece: one at most ({})", why(evidence))));
        if !marker.changes {
            facts.push("never moves".to_owned());
        }
        facts.push(format!("{:.1} on average", marker.mean_count));
        writeln!(text, "  {symbol} {:<12} {}", marker.name, facts.join("; "))?;
    }
    Ok(())
}

/// A character for each marker: a letter of its name if one is free.
fn symbols(board: &BoardReport) -> Vec<char> {
    let mut taken = BTreeSet::from(['.']);
    let mut free = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain("#@%&*+=~?!$".chars()).collect::<Vec<_>>();
    free.reverse();
    let mut choose = |name: &str, blank: bool| {
        if blank {
            return '.';
        }
        let own = name.chars().flat_map(|letter| [letter, letter.to_ascii_uppercase()]);
        let chosen = own.filter(|letter| letter.is_ascii_alphanumeric()).find(|letter| !taken.contains(letter));
        let chosen = chosen.or_else(|| free.iter().rev().copied().find(|letter| !taken.contains(letter)));
        let chosen = chosen.unwrap_or('?');
        taken.insert(chosen);
        chosen
    };
    board.markers.iter().map(|marker| choose(&marker.name, marker.blank)).collect()
}

/// Draws the initial position of a board with one or two ordered coordinates: the first to the right, the second upwards.
fn draw(text: &mut String, board: &BoardReport, symbols: &[char]) -> std::fmt::Result {
    let ordered = board.axes.iter().all(|axis| axis.order.is_some());
    if !ordered || board.axes.len() > 2 || board.axes.iter().any(|axis| axis.values.len() > 40) {
        return Ok(());
    }
    let width = board.axes[0].values.len();
    let height = board.axes.get(1).map_or(1, |axis| axis.values.len());
    let blank = board.markers.iter().any(|marker| marker.blank);
    let mut rows = vec![vec![' '; width]; height];
    for (cell, markers) in board.cells.iter().zip(&board.initial) {
        let drawn = match markers[..] {
            [] => {
                if blank {
                    '_'
                } else {
                    '.'
                }
            }
            [marker] => symbols[marker],
            _ => '*',
        };
        rows[cell.get(1).copied().unwrap_or(0)][cell[0]] = drawn;
    }
    let labels: Vec<&str> = board.axes.get(1).map_or(vec![""], |axis| axis.values.iter().map(String::as_str).collect());
    let margin = labels.iter().map(|label| label.len()).max().unwrap_or(0).min(8);
    for (row, label) in rows.iter().zip(&labels).rev() {
        let row: Vec<String> = row.iter().map(char::to_string).collect();
        writeln!(text, "    {:>margin$.margin$} {}", label, row.join(" ").trim_end())?;
    }
    Ok(())
}

fn rest(text: &mut String, analysis: &Analysis) -> std::fmt::Result {
    if !analysis.counters.is_empty() {
        writeln!(text, "\nCounters")?;
    }
    for counter in &analysis.counters {
        let kind = if counter.cyclic { "goes round" } else { "goes through" };
        let mut line = format!("  {} {kind}: {}", counter.fluent, counter.values.join(", "));
        if counter.n_values > counter.values.len() {
            let _ = write!(line, " ({} values)", counter.n_values);
        }
        let _ = write!(line, " ({})", why(counter.evidence));
        if let Some((limit, evidence)) = &counter.limit {
            let _ = write!(line, "; the game ends with {limit} ({})", why(*evidence));
        }
        writeln!(text, "{line}")?;
    }
    if !analysis.quantities.is_empty() {
        writeln!(text, "\nQuantities")?;
    }
    for quantity in &analysis.quantities {
        let (low, high) = &quantity.range;
        writeln!(text, "  {}: from {low} to {high} in the order of `{}`", quantity.mode, quantity.order)?;
    }
    if !analysis.orders.is_empty() {
        writeln!(text, "\nOrders")?;
    }
    for order in &analysis.orders {
        let selector = order.selector.as_ref().map(|value| format!(" {value}")).unwrap_or_default();
        let kind = if order.cyclic { "circle" } else { "row" };
        let same = match &order.same_as {
            Some((other, false)) => format!(" (the same as `{other}`)"),
            Some((other, true)) => format!(" (`{other}` backwards)"),
            None => String::new(),
        };
        writeln!(
            text,
            "  {}{selector}: {kind} of {}: {}{same}",
            order.relation,
            order.objects.len(),
            list(&order.objects)
        )?;
    }
    for found in &analysis.arithmetic {
        let orders: BTreeSet<&str> = found.orders.iter().map(|order| order.as_deref().unwrap_or("numbers")).collect();
        let orders: Vec<&str> = orders.into_iter().collect();
        writeln!(text, "  {}: {} ({})", found.relation, found.meaning, orders.join(", "))?;
    }
    symmetries(text, analysis)?;
    numbers(text, analysis)
}

fn symmetries(text: &mut String, analysis: &Analysis) -> std::fmt::Result {
    let Some(symmetries) = &analysis.symmetries else { return Ok(()) };
    let order = match (symmetries.order, symmetries.log10_order) {
        (Some(1), _) if symmetries.unproved.is_empty() && symmetries.stopped.is_empty() => return Ok(()),
        (Some(order), _) => order.to_string(),
        (None, Some(log10)) => format!("about 10^{log10:.0}"),
        (None, None) => "an unknown number".to_owned(),
    };
    let fixing = symmetries.order_fixing_initial.map(|order| format!(", {order} of them keep the first position"));
    writeln!(text, "\nSymmetries: {order}{}, generated by", fixing.unwrap_or_default())?;
    const SHOWN: usize = 12;
    for generator in symmetries.generators.iter().take(SHOWN) {
        let moved = if generator.fixes_initial { "" } else { "; moves the first position" };
        writeln!(text, "  {} ({}){moved}", generator.name, why(generator.evidence))?;
    }
    if symmetries.generators.len() > SHOWN {
        writeln!(text, "  and {} more", symmetries.generators.len() - SHOWN)?;
    }
    if let Some((fluents, moves)) = symmetries.classes {
        writeln!(text, "  up to symmetry there are {fluents} fluents and {moves} moves")?;
    }
    symmetries
        .unproved
        .iter()
        .try_for_each(|other| writeln!(text, "  perhaps also {} ({})", other.name, why(other.evidence)))?;
    symmetries.stopped.iter().try_for_each(|reason| writeln!(text, "  perhaps more: {reason}"))
}

fn numbers(text: &mut String, analysis: &Analysis) -> std::fmt::Result {
    let numbers = &analysis.numbers;
    let cut = if numbers.cut_short { ", cut short by the budget" } else { "" };
    writeln!(text, "\nRandom play: {} matches, {} states{cut}", numbers.matches, numbers.states)?;
    if numbers.given_up > 0 {
        writeln!(text, "  given up     {} matches, too long or without a legal move", numbers.given_up)?;
    }
    if numbers.branching.n > 0 {
        writeln!(text, "  choices      {} moves, at most {}", estimate(&numbers.branching, ""), numbers.max_moves)?;
    }
    if let Some((shortest, longest)) = numbers.lengths {
        writeln!(text, "  length       {} steps, from {shortest} to {longest}", estimate(&numbers.length, ""))?;
    }
    for (index, (role, result)) in numbers.results.iter().enumerate() {
        let label = if index == 0 { "result" } else { "" };
        let wins = if numbers.wins.len() > 1 {
            format!(", wins {}", estimate(&numbers.wins[index].1, "%"))
        } else {
            String::new()
        };
        writeln!(text, "  {label:<12} {role}: {}{wins}", estimate(result, ""))?;
    }
    if numbers.wins.len() > 1 && numbers.matches > 0 {
        writeln!(text, "  shared       {} of the matches", estimate(&numbers.shared, "%"))?;
    }
    if let Some(advantage) = &numbers.first_move_advantage {
        writeln!(text, "  first move   worth {} points", estimate(advantage, ""))?;
    }
    let engine = &analysis.engine;
    let (fluents, seen, moves) = (engine.fluents, engine.fluents_seen, engine.moves);
    writeln!(
        text,
        "  fluents      {fluents} possible, {seen} seen; {moves} moves; at most 10^{:.1} states",
        engine.log10_states
    )?;
    match (&engine.no_network, engine.gates) {
        (Some(reason), _) => writeln!(text, "  no network   {reason}")?,
        (None, Some(gates)) => writeln!(text, "  network      {gates} gates")?,
        _ => {}
    }
    if let (None, Some(reason)) = (&engine.no_network, &engine.no_proofs) {
        writeln!(text, "  no proofs    {reason}")?;
    }
    Ok(())
}

fn relations(text: &mut String, analysis: &Analysis) -> std::fmt::Result {
    writeln!(text, "\nFluents")?;
    for family in &analysis.fluents {
        let changes = family.always_changes.map(|evidence| format!(", never twice running ({})", why(evidence)));
        writeln!(text, "  {}: {}{}", family.shape, family.members, changes.unwrap_or_default())?;
    }
    writeln!(text, "\nMoves")?;
    for family in &analysis.moves {
        writeln!(text, "  {}: {}", family.shape, family.members)?;
    }
    if !analysis.moves_without_effect.is_empty() {
        writeln!(text, "  without effect: {}", list(&analysis.moves_without_effect))?;
    }
    writeln!(text, "\nAt most one holds")?;
    for found in &analysis.exclusions {
        let least = match found.at_least_one {
            Some(evidence) => format!("; exactly one: {}", why(evidence)),
            None => String::new(),
        };
        let (modes, groups, largest) = (found.modes.join(" "), found.groups, found.largest);
        writeln!(text, "  {modes}: {groups} groups of up to {largest} ({}{least})", why(found.at_most_one))?;
    }
    writeln!(text, "\nRelations")?;
    for relation in &analysis.relations {
        let depends = match relation.depends_on {
            Dependence::Nothing => "never changes",
            Dependence::State => "depends on the state",
            Dependence::Moves => "depends on the moves",
        };
        let facts = relation.facts.map(|facts| format!(", {facts} facts")).unwrap_or_default();
        let recursive = match relation.base_cases {
            Some(cases) => format!(", recursive with {cases} base cases"),
            None => String::new(),
        };
        let n = relation.arguments.len();
        writeln!(text, "  {}/{n}: {depends}, {} rules{facts}{recursive}", relation.name, relation.rules)?;
        for (index, domain) in relation.arguments.iter().enumerate() {
            let values =
                if domain.size > domain.values.len() { format!("{} names", domain.size) } else { list(&domain.values) };
            writeln!(text, "    {}: {values}", index + 1)?;
        }
    }
    Ok(())
}
