//! What holds for any rules that can be played. Fuzzers and tests share this.

use std::sync::Arc;

use machine::lanes::{self, Lanes};
use machine::scalar::{self, Scalar};
use machine::{Exceeded, Limits, Machine, Reference, RoleId, Setup};

/// The joint moves that are made.
const N_PLIES: usize = 4;

/// All engines end within their budgets and say the same of every state of a short match; `choices` chooses the moves.
/// Returns whether there was anything to compare.
pub(crate) fn game(text: &str, choices: &[u8]) -> bool {
    let reading = gdl::read("game", text.as_bytes());
    // Rules with errors can be played as long as they have a meaning, and mean the same to all.
    let has_errors = reading.has_errors();
    let program = Arc::new(reading.program);
    let small =
        Limits { facts: 20_000, work: 200_000, bytes: 64 << 20, term_depth: 32, term_size: 500, ..Limits::default() };
    let on_demand = Limits { table: 0, static_table: 0, ..small.clone() };
    let reference = match Reference::new(program.clone(), small) {
        Ok(reference) => reference,
        Err(Setup::Unevaluable(_)) if has_errors => return false,
        Err(Setup::Unevaluable(why)) => panic!("{why:?}, but the checks found no error in\n{text}"),
        Err(Setup::Exceeded(_)) => return false,
    };
    let Ok(expected) = play(reference, choices) else { return false };
    if let Ok(other) = Reference::new(program.clone(), on_demand)
        && let Ok(found) = play(other, choices)
    {
        assert_eq!(found, expected, "on demand, in\n{text}");
    }
    // All relations as a whole, and those that nobody asks for as a whole on demand.
    for whole in [20_000, 0] {
        let stop = gdl::Stop::never();
        let budget = gdl::ground::Budget { rules: 2000, facts: 20_000, literals: 50_000, work: 200_000, whole, stop };
        if let Ok(ground) = gdl::ground::ground(&program, &budget)
            && let Ok(network) = machine::network::build(ground, &gdl::Stop::never())
        {
            let network = Arc::new(network);
            let found = play(Scalar::new(scalar::Compiled::new(network.clone())), choices);
            assert_eq!(found.as_ref(), Ok(&expected), "one state at a time ({whole}), in\n{text}");
            let found = play(Lanes::new(lanes::Compiled::new(network)), choices);
            assert_eq!(found.as_ref(), Ok(&expected), "many states at once ({whole}), in\n{text}");
        }
    }
    true
}

/// What a machine says along a match.
fn play<M: Machine>(mut machine: M, choices: &[u8]) -> Result<Vec<String>, Exceeded> {
    let mut said = vec![format!("{:?}", machine.roles())];
    let mut state = machine.initial()?;
    let mut choices = choices.iter().copied().cycle();
    for _ in 0..N_PLIES {
        let terminal = machine.is_terminal(&state)?;
        let (mut joint, mut legal, mut goals) = (Vec::new(), Vec::new(), Vec::new());
        for role in (0..machine.roles().len() as u32).map(RoleId) {
            let mut moves = Vec::new();
            machine.legal(&state, role, &mut moves)?;
            let mut named: Vec<_> = moves.into_iter().map(|chosen| (machine.move_name(chosen), chosen)).collect();
            named.sort_by(|left, right| left.0.cmp(&right.0));
            if !named.is_empty() {
                joint.push(named[usize::from(choices.next().unwrap_or(0)) % named.len()].1);
            }
            legal.push(named.into_iter().map(|(name, _)| name).collect::<Vec<_>>());
            goals.push(machine.goals(&state, role)?);
        }
        said.push(format!("{:?} terminal {terminal} legal {legal:?} goals {goals:?}", machine.fluents(&state)));
        if terminal || joint.len() < legal.len() {
            break;
        }
        state = machine.next(&state, &joint)?;
    }
    Ok(said)
}
