//! `senet explain`: what a model has learned, in words.

use std::fmt::Write as _;
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use arena::store::ModelEntry;
use clap::Args;
use features::english::English;
use features::game::Game;
use features::pattern::atoms::Value;
use features::positions::{self, collect};
use insight::canonical::{self, canonical};
use learn::course::Stored;
use learn::model::{Model, Sum};
use learn::sight::Rows;
use serde::Serialize;
use serde_json::Value as Json;

use crate::measure::Score;
use crate::memory;
use crate::picture::curve::{Curve, Line};
use crate::ranking;
use crate::screen;

/// Says what a model has learned: the features and patterns that move it most, in words
///
/// For each stage of a match, and whose turn it is, the features are listed by how much they change the expected result: the
/// weight times how much the feature's value varies in played positions. A plus is good for the role that is named.
///
/// Examples:
///   senet explain connect-four        the model of a game that plays
///   senet explain 3 --top 20          model 3, more of it
///   senet explain 3 --curve 3.svg     and draws how it was learned
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Explain {
    /// A model's number (`senet models` lists them), or a game: the model that plays
    model: String,
    /// How many features and patterns are told for each stage
    #[arg(long, value_name = "N", default_value_t = 8)]
    top: usize,
    /// Draws the learning curve: how well results were predicted, by the matches that were played
    #[arg(long, value_name = "FILE.svg")]
    curve: Option<PathBuf>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// The memory, instead of the usual file
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// What one set of weights says.
#[derive(Serialize)]
struct Part {
    /// Whose result it is about.
    role: String,
    /// Whose turn it is, where that matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    to_move: Option<String>,
    /// The stage, from 1.
    stage: usize,
    /// How many of the positions looked at are of it.
    positions: usize,
    features: Vec<Told>,
    patterns: Vec<Told>,
    ways: Vec<Told>,
}

/// Something that moves the expected result.
#[derive(Serialize)]
struct Told {
    /// How much it does, as a change of the sum by one standard deviation.
    effect: f64,
    weight: f32,
    meaning: String,
}

pub(crate) fn run(arguments: Explain) -> anyhow::Result<ExitCode> {
    let store = memory::open(arguments.store)?;
    let entry = find(store.models()?, &arguments.model)?;
    let Some(bytes) = store.model(&entry)? else {
        bail!("the file of model {} is gone; `senet learn {}` learns it again", entry.id, entry.game_name);
    };
    let Some(known) = store.find(entry.game)? else { bail!("the game of model {} is not remembered", entry.id) };
    let program = gdl::read(&known.name, known.rules.as_bytes()).program;
    let game = Game::new(canonical(&program, canonical::BUDGET).respelled(&program), 1).map_err(|why| anyhow!(why))?;
    let game = Arc::new(game);
    if let Some(file) = &arguments.curve {
        let drawn = curve(&entry, &game);
        arena::store::write_whole(file, drawn.as_bytes())
            .with_context(|| format!("can't write `{}`", file.display()))?;
    }
    let model = Stored::from_bytes(&bytes)?.load(game.clone())?;
    let play = positions::Settings { levels: 2, positions: 4_000, ..positions::Settings::default() };
    let positions = collect(&game, &play, &mut |_| true).positions;
    let rows = model.sight.rows((0..positions.len()).map(|position| positions.state(position)));
    let parts = parts(&model, &rows, arguments.top);
    let mut out = screen::out();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&parts)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "model {} of {}, made on {}", entry.id, entry.game_name, memory::day(entry.made_at))?;
    if let Some(made) = how_made(&entry.about) {
        writeln!(out, "{made}")?;
    }
    for part in &parts {
        write!(out, "{}", part.text())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn find(models: Vec<ModelEntry>, wanted: &str) -> anyhow::Result<ModelEntry> {
    let found = match wanted.parse::<i64>() {
        Ok(number) => models.iter().find(|model| model.id == number),
        Err(_) => models.iter().rfind(|model| model.game_name == wanted).map(|newest| {
            // One that is outdated can't play, but may be asked for.
            ranking::best_first(&models, newest.game).first().copied().unwrap_or(newest)
        }),
    };
    found.cloned().ok_or_else(|| {
        anyhow!("there is no model `{wanted}`; `senet models` lists them, and `senet learn {wanted}` learns")
    })
}

/// How a model was made, in a line; `None` if it was made before that was kept.
fn how_made(about: &str) -> Option<String> {
    let about: Json = serde_json::from_str(about).ok()?;
    let threads = about["threads"].as_u64()?;
    let limit = match (about["limit"]["seconds"].as_f64(), about["limit"]["generations"].as_u64()) {
        (Some(seconds), _) => format!("{seconds:.0} s for learning"),
        (_, Some(n)) => format!("{n} generations"),
        _ => return None,
    };
    Some(format!("seed {}, {limit}, threads: {threads}; `senet models --json` has all settings", about["seed"]))
}

/// The learning curve of a model, as SVG: its points against the model that its course began with, if it was measured at least twice;
/// else for each role with weights the loss on matches that were new then, or where there is none each role's mean result.
fn curve(entry: &ModelEntry, game: &Game) -> String {
    let about: Json = serde_json::from_str(&entry.about).unwrap_or_default();
    let list = |value: &Json| value.as_array().cloned().unwrap_or_default();
    let generations = list(&about["curve"]);
    let matches = |generation: &Json| generation["n_matches"].as_f64().unwrap_or(0.0);
    let strength = |generation: &Json| Some((matches(generation), Some(100.0 * generation["strength"].as_f64()?)));
    let points: Vec<(f64, Option<f64>)> = generations.iter().filter_map(strength).collect();
    let is_strength = points.len() > 1;
    let mut lines = Vec::new();
    if is_strength {
        lines.push(Line { name: "one move ahead".to_owned(), group: 0, points });
    }
    let n_values = |name| generations.iter().map(|generation| list(&generation[name]).len()).max().unwrap_or(0);
    let is_loss = n_values("losses") > 0;
    let values = if is_loss { "losses" } else { "results" };
    let n_lines = n_values(values);
    for role in (0..n_lines).filter(|_| !is_strength) {
        let name = match (n_lines, game.universe.roles.get(role)) {
            (1, _) | (_, None) => "new matches".to_owned(),
            (_, Some(&role)) => game.universe.name(role),
        };
        // A loss that is no number is written as nothing.
        let point = |generation: &Json| (matches(generation), generation[values][role].as_f64());
        lines.push(Line { name, group: role, points: generations.iter().map(point).collect() });
    }
    let number = |name: &str| about[name].as_f64().unwrap_or(0.0);
    let mut notes = vec![format!(
        "{} matches in {} generations, {:.0} s; made on {}",
        number("matches"),
        number("generations"),
        number("seconds"),
        memory::day(entry.made_at)
    )];
    let scores = list(&about["scores"]).into_iter().filter_map(|score| serde_json::from_value::<Score>(score).ok());
    notes.extend(
        scores.map(|score| {
            format!("{:.1} ({:.1} to {:.1}) against {}", score.mean, score.low, score.high, score.against())
        }),
    );
    let title = format!("Model {} of {}", entry.id, entry.game_name);
    let across = if is_strength || is_loss { "matches with itself" } else { "matches of each role" };
    let up = match (is_strength, is_loss) {
        (true, _) => "% of the points against its beginning",
        (false, true) => "loss, in nats",
        (false, false) => "mean result",
    };
    Curve { title: &title, notes: &notes, across, up, lines: &lines }.svg()
}

fn parts(model: &Model, rows: &Rows, top: usize) -> Vec<Part> {
    let (sight, game) = (&model.sight, &model.sight.game);
    let english = English::new(game);
    let role_name = |role: usize| game.universe.name(game.universe.roles[role]);
    let n_stages = sight.stages.cuts.len() + 1;
    let n_features = sight.features.len();
    let n_met = sight.n_met();
    let mut parts = Vec::new();
    for (role, weights) in model.weights.iter().enumerate() {
        for set in 0..sight.stages.n_sets() {
            let own: Vec<usize> = (0..rows.sets.len()).filter(|&row| usize::from(rows.sets[row]) == set).collect();
            // Step 1. Features, by how much their values vary.
            let mut features: Vec<Told> = (0..n_features)
                .map(|feature| {
                    let values = own.iter().map(|&row| f64::from(rows.values[row * n_features + feature]));
                    let weight = weights.features[set][feature];
                    Told {
                        effect: f64::from(weight) * deviation(values, own.len()),
                        weight,
                        meaning: english.sentence(&sight.features[feature]),
                    }
                })
                .collect();
            strongest(&mut features, top);
            // Step 2. Slots, by how much the number of places where they are met varies.
            let mut met = vec![(0.0, 0.0); sight.n_slots()];
            for &row in &own {
                let slots = &rows.slots[row * n_met..(row + 1) * n_met];
                let mut slots: Vec<u32> = slots.iter().copied().filter(|&slot| slot != u32::MAX).collect();
                slots.sort_unstable();
                for same in slots.chunk_by(u32::eq) {
                    let (sum, squares) = &mut met[same[0] as usize];
                    let n = same.len() as f64;
                    (*sum, *squares) = (*sum + n, *squares + n * n);
                }
            }
            let told = |slots: Range<u32>, meaning: &dyn Fn(u32) -> String| -> Vec<Told> {
                let weight = |slot: u32| weights.slots[set][slot as usize];
                let effect = |slot: u32| f64::from(weight(slot)) * deviation_of(met[slot as usize], own.len());
                let mut order: Vec<u32> = slots.filter(|&slot| met[slot as usize].0 > 0.0).collect();
                order.sort_by(|&a, &b| effect(b).abs().total_cmp(&effect(a).abs()));
                let told = order.into_iter().take(top);
                told.map(|slot| Told { effect: effect(slot), weight: weight(slot), meaning: meaning(slot) }).collect()
            };
            let n_patterns = sight.patterns.as_ref().map_or(0, |tables| tables.n_slots() as u32);
            let patterns = sight.patterns.as_ref().map_or(Vec::new(), |tables| {
                told(0..n_patterns, &|slot| match tables.n_places(slot) {
                    1 => pattern(model, &tables.slot(slot)),
                    n => format!("{}, or the like in any of {n} places", pattern(model, &tables.slot(slot))),
                })
            });
            let ways = sight.ways.as_ref().map_or(Vec::new(), |tables| {
                told(n_patterns..sight.n_slots() as u32, &|slot| {
                    tables.sentence(slot - n_patterns, &|role| role_name(role as usize))
                })
            });
            let to_move = (!sight.stages.control.is_empty()).then(|| role_name(set / n_stages));
            parts.push(Part {
                role: role_name(role),
                to_move,
                stage: set % n_stages + 1,
                positions: own.len(),
                features,
                patterns,
                ways,
            });
        }
        if model.sum == Sum::Shared {
            break;
        }
    }
    parts
}

/// The standard deviation of some numbers.
fn deviation(values: impl Iterator<Item = f64>, n: usize) -> f64 {
    deviation_of(values.fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value)), n)
}

/// The standard deviation of numbers of which the sum and the sum of squares are known.
fn deviation_of((sum, squares): (f64, f64), n: usize) -> f64 {
    let n = n.max(1) as f64;
    (squares / n - (sum / n).powi(2)).max(0.0).sqrt()
}

fn strongest(told: &mut Vec<Told>, n: usize) {
    told.sort_by(|a, b| b.effect.abs().total_cmp(&a.effect.abs()));
    told.truncate(n);
    told.retain(|told| told.effect != 0.0);
}

/// What a pattern's slot says, in the words of the rules.
fn pattern(model: &Model, atoms: &[(u32, Value)]) -> String {
    let network = &model.sight.views.network;
    let name = |fluent: u32| network.terms.display(&network.symbols, network.fluents[fluent as usize]).to_string();
    let said = atoms.iter().map(|(_, value)| match value {
        Value::Is(literal) if literal.holds => name(literal.fluent),
        Value::Is(literal) => format!("not {}", name(literal.fluent)),
        Value::Between(from, to) => format!("from {from} to {to}"),
        Value::Otherwise | Value::Never => "-".to_owned(),
    });
    said.collect::<Vec<_>>().join(" ")
}

impl Part {
    fn text(&self) -> String {
        let mut text = format!("\n{}, stage {}", self.role, self.stage);
        if let Some(to_move) = &self.to_move {
            _ = write!(text, ", {to_move} to move");
        }
        _ = writeln!(text, " ({} positions)", self.positions);
        for (title, told) in [("features", &self.features), ("patterns", &self.patterns), ("ways", &self.ways)] {
            if !told.is_empty() {
                _ = writeln!(text, "  {title}");
            }
            for told in told {
                _ = writeln!(text, "    {:+.3}  {}", told.effect, told.meaning);
            }
        }
        text
    }
}
