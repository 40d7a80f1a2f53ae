//! What moves would do to a board, whoever is to move.
//!
//! A role *could* make a move if the conditions hold that speak of the move's own arguments; all others are dropped: whose
//! turn it is, that a capture is compulsory, that another piece is in the middle of its move. This is read off the rules:
//! in a rule for `legal`, a condition stays if variables connect it with the arguments of the move (the role is no such
//! connection), and likewise in the rules of the relations that it uses.
//!
//! What the move would do is read off the ground rules for `next`, with this move made by its role and all others idle:
//! formulas over the state, which say of a fluent whether it would hold.

use std::collections::BTreeSet;

use gdl::ground::{self, GroundLiteral, GroundProgram, Signal};
use gdl::program::{Atom, Formula, Program, Relation, Rule, Term, VarId};
use gdl::source::Span;
use gdl::symbol::{SymbolId, keyword};
use machine::network::{self, Network, Wire};
use rustc_hash::{FxHashMap, FxHashSet};

use super::term;
use crate::game::Game;

/// How much is looked at.
#[derive(Clone, Debug)]
pub struct Budget {
    /// For grounding the rules with the relaxed ones.
    pub ground: ground::Budget,
    /// Rule instances that are looked at to find what moves do.
    pub instances: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { ground: ground::Budget::default(), instances: 50_000_000 }
    }
}

/// A move that a role could make.
#[derive(Clone, Debug)]
pub struct Move {
    /// The role.
    pub role: u32,
    /// The move, by its number in the universe; `None` if it is never legal.
    pub number: Option<u32>,
    /// Whether the role could make it.
    pub could: Wire,
    /// What the move may change.
    pub changes: Vec<Change>,
}

/// A fluent that a move may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The fluent, by its number in the universe.
    pub fluent: u32,
    /// Whether it would hold next.
    pub next: Wire,
    /// Whether rules name the move as a reason for what the fluent is next, or for what it is not. If not, it changes
    /// because this role makes none of the moves that they name.
    pub named: bool,
}

/// What moves would do.
#[derive(Debug)]
pub struct Effects {
    /// A network of the game, to which the wires belong; they depend on the state alone.
    pub network: Network,
    /// For each fluent of the universe, its wire.
    pub fluents: Vec<Wire>,
    /// The moves.
    pub moves: Vec<Move>,
}

/// Finds what moves would do to the fluents for which `watched` is set.
///
/// # Errors
/// Why the rules could not be grounded, or that the budget is too small.
pub fn find(game: &Game, watched: &[bool], budget: &Budget) -> Result<Effects, String> {
    // Step 1. The moves that could be made.
    let control: FxHashSet<Term> =
        game.structure.turns.control.iter().flatten().map(|&fluent| fluent_term(game, fluent)).collect();
    let (program, could) = Relaxer::relax(&game.program, &control);
    let mut ground = ground::ground_with(&program, &[could], &budget.ground).map_err(|failure| failure.to_string())?;
    let own = Own::new(game, &ground);
    let mut moves: Vec<(u32, u32, u32)> = Vec::new();
    let number: FxHashMap<(u32, gdl::TermId), u32> = ground.moves.iter().copied().zip(0..).collect();
    for (_, args, atom) in &ground.views {
        let role = ground.roles.iter().position(|&role| role == args[0]);
        let chosen = role.and_then(|role| number.get(&(role as u32, args[1])));
        if let (Some(role), Some(&chosen)) = (role, chosen) {
            moves.push((role as u32, chosen, *atom));
        }
    }
    moves.sort_unstable();
    // Step 2. The watched fluents, and the moves that their next values depend on.
    let watched: Vec<(u32, u32, BTreeSet<u32>)> = (0..ground.fluents.len())
        .filter(|&fluent| own.fluents[fluent].is_some_and(|mine| watched[mine as usize]))
        .filter_map(|fluent| ground.next[fluent].map(|next| (fluent as u32, next, moves_below(&ground, next))))
        .collect();
    // Step 3. What would hold next, as further views.
    let idle: Vec<Option<u32>> = (0..ground.roles.len()).map(|role| own.idle(game, &ground, role)).collect();
    let control: Vec<Vec<u32>> = own.control(game);
    let mut reducer = Reducer::new(&ground, &control, budget.instances);
    let too_long = || "what moves do takes too long to find out".to_owned();
    let unchanged = |fluent: u32| Value::Literal(GroundLiteral { signal: Signal::Fluent(fluent), negated: false });
    let mut wanted: Vec<(usize, u32, Value, bool)> = Vec::new();
    for role in 0..ground.roles.len() as u32 {
        let of_role = |index: &usize| moves[*index].0 == role && Some(moves[*index].1) != idle[role as usize];
        let of_role: Vec<usize> = (0..moves.len()).filter(of_role).collect();
        // What happens by itself, if the role makes none of the moves that matter.
        reducer.suppose(&ground, role, None, &idle, &control);
        for (fluent, next, named) in &watched {
            let value = reducer.atom(&mut ground, *next, 0).ok_or_else(too_long)?;
            if value != unchanged(*fluent) {
                let others = of_role.iter().filter(|&&index| !named.contains(&moves[index].1));
                wanted.extend(others.map(|&index| (index, *fluent, value, false)));
            }
        }
        for &index in &of_role {
            let chosen = moves[index].1;
            reducer.suppose(&ground, role, Some(chosen), &idle, &control);
            for (fluent, next, _) in watched.iter().filter(|(.., named)| named.contains(&chosen)) {
                let value = reducer.atom(&mut ground, *next, 0).ok_or_else(too_long)?;
                if value != unchanged(*fluent) {
                    wanted.push((index, *fluent, value, true));
                }
            }
        }
    }
    ground.views.clear();
    for &(_, _, atom) in &moves {
        ground.views.push((0, Box::new([]), atom));
    }
    for &(_, _, value, _) in &wanted {
        let atom = value.as_atom(&mut ground);
        ground.views.push((0, Box::new([]), atom));
    }
    // Step 4. Wires.
    let names: Vec<(u32, gdl::TermId)> = ground.moves.clone();
    let known: FxHashMap<(u32, Term), u32> = game
        .universe
        .moves
        .iter()
        .zip(0..)
        .map(|(&(role, chosen), number)| ((role, term(&game.universe, chosen)), number))
        .collect();
    let network = network::build(ground, &gdl::Stop::never()).map_err(|failure| failure.to_string())?;
    let name = |chosen: u32| {
        let (role, chosen) = names[chosen as usize];
        (role, term_of(&network.terms, chosen))
    };
    let mut found: Vec<Move> = moves
        .iter()
        .enumerate()
        .map(|(index, &(role, chosen, _))| Move {
            role: own.roles[role as usize],
            number: known.get(&(own.roles[role as usize], name(chosen).1)).copied(),
            could: network.formulas[index],
            changes: Vec::new(),
        })
        .collect();
    for (view, &(index, fluent, _, named)) in wanted.iter().enumerate() {
        let fluent = own.fluents[fluent as usize].expect("it was watched");
        found[index].changes.push(Change { fluent, next: network.formulas[moves.len() + view], named });
    }
    let fluents = own_wires(game, &network);
    Ok(Effects { network, fluents, moves: found })
}

fn fluent_term(game: &Game, fluent: u32) -> Term {
    term(&game.universe, game.universe.fluents[fluent as usize])
}

fn term_of(terms: &gdl::datalog::Terms, id: gdl::TermId) -> Term {
    let args = terms.args(id);
    if args.is_empty() {
        Term::Const(terms.name(id))
    } else {
        Term::Func(terms.name(id), args.iter().map(|&arg| term_of(terms, arg)).collect())
    }
}

/// The wire of each of the universe's fluents.
fn own_wires(game: &Game, network: &Network) -> Vec<Wire> {
    let mut wires: FxHashMap<Term, Wire> = FxHashMap::default();
    let named = |id: gdl::TermId| term_of(&network.terms, id);
    wires.extend(network.fluents.iter().zip(1..).map(|(&fluent, gate)| (named(fluent), Wire::of(gate))));
    let equal = network.equal_fluents.iter();
    wires.extend(equal.map(|&(fluent, other, inverted)| (named(fluent), Wire::of(1 + other).invert_if(inverted))));
    wires.extend(network.constant_fluents.iter().map(|&fluent| (named(fluent), Wire::TRUE)));
    let fluents = 0..game.universe.fluents.len() as u32;
    fluents.map(|fluent| wires.get(&fluent_term(game, fluent)).copied().unwrap_or(Wire::FALSE)).collect()
}

/// What the fluents and roles of a ground program are in the universe of the game.
struct Own {
    fluents: Vec<Option<u32>>,
    roles: Vec<u32>,
}

impl Own {
    fn new(game: &Game, ground: &GroundProgram) -> Own {
        let fluents = 0..game.universe.fluents.len() as u32;
        let number: FxHashMap<Term, u32> = fluents.map(|fluent| (fluent_term(game, fluent), fluent)).collect();
        let roles: Vec<Term> = game.universe.roles.iter().map(|&role| term(&game.universe, role)).collect();
        let role = |&role: &gdl::TermId| {
            let name = term_of(&ground.terms, role);
            roles.iter().position(|other| *other == name).expect("both have the same roles") as u32
        };
        Own {
            fluents: ground.fluents.iter().map(|&id| number.get(&term_of(&ground.terms, id)).copied()).collect(),
            roles: ground.roles.iter().map(role).collect(),
        }
    }

    /// The move by which a role of the ground program does nothing.
    fn idle(&self, game: &Game, ground: &GroundProgram, role: usize) -> Option<u32> {
        let idle = *game.structure.turns.idle[self.roles[role] as usize].first()?;
        let name = term(&game.universe, game.universe.moves[idle as usize].1);
        let same = |&(of, chosen): &(u32, gdl::TermId)| of as usize == role && term_of(&ground.terms, chosen) == name;
        ground.moves.iter().position(same).map(|index| index as u32)
    }

    /// For each role of the ground program, the fluents that say that it is to move.
    fn control(&self, game: &Game) -> Vec<Vec<u32>> {
        let numbers: FxHashMap<u32, u32> =
            self.fluents.iter().zip(0..).filter_map(|(own, number)| Some(((*own)?, number))).collect();
        let of_role = |&role: &u32| {
            game.structure.turns.control[role as usize]
                .iter()
                .filter_map(|fluent| numbers.get(fluent).copied())
                .collect()
        };
        self.roles.iter().map(of_role).collect()
    }
}

/// The moves that an atom depends on.
fn moves_below(ground: &GroundProgram, atom: u32) -> BTreeSet<u32> {
    let (mut seen, mut open, mut moves) = (FxHashSet::default(), vec![atom], BTreeSet::new());
    seen.insert(atom);
    while let Some(atom) = open.pop() {
        for literal in ground.instances(atom).flatten() {
            match literal.signal {
                Signal::Move(chosen) => _ = moves.insert(chosen),
                Signal::Atom(inner) if seen.insert(inner) => open.push(inner),
                _ => {}
            }
        }
    }
    moves
}

/// What an atom comes to under a supposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Constant(bool),
    Literal(GroundLiteral),
}

impl Value {
    fn invert_if(self, invert: bool) -> Value {
        match self {
            Value::Constant(value) => Value::Constant(value != invert),
            Value::Literal(literal) => Value::Literal(GroundLiteral { negated: literal.negated != invert, ..literal }),
        }
    }

    /// An atom of the ground program that has this value.
    fn as_atom(self, ground: &mut GroundProgram) -> u32 {
        match self {
            Value::Constant(true) => add_atom(ground, &[Vec::new()]),
            Value::Constant(false) => add_atom(ground, &[]),
            Value::Literal(GroundLiteral { signal: Signal::Atom(atom), negated: false }) => atom,
            Value::Literal(literal) => add_atom(ground, &[vec![literal]]),
        }
    }
}

fn add_atom(ground: &mut GroundProgram, instances: &[Vec<GroundLiteral>]) -> u32 {
    ground.atoms.push(0..0);
    let atom = ground.atoms.len() as u32 - 1;
    define(ground, atom, instances);
    atom
}

fn define(ground: &mut GroundProgram, atom: u32, instances: &[Vec<GroundLiteral>]) {
    let first = ground.instances.len() as u32;
    for instance in instances {
        let start = ground.literals.len() as u32;
        ground.literals.extend(instance);
        ground.instances.push(start..ground.literals.len() as u32);
    }
    ground.atoms[atom as usize] = first..ground.instances.len() as u32;
}

/// Evaluates atoms as far as possible under the supposition that a role makes a move.
struct Reducer {
    /// The atoms of the game that depend on moves or on whose turn it is.
    depends: Vec<bool>,
    fluents: FxHashMap<u32, bool>,
    chosen: FxHashSet<u32>,
    known: FxHashMap<u32, Value>,
    /// The atoms that are being looked at, with the new atoms that stand for them where they lead back to themselves.
    open: FxHashMap<u32, Option<u32>>,
    instances_left: u64,
}

/// How deep atoms may lie under each other.
const MAX_DEPTH: usize = 1_000;

impl Reducer {
    fn new(ground: &GroundProgram, control: &[Vec<u32>], instances: u64) -> Reducer {
        let control: FxHashSet<u32> = control.iter().flatten().copied().collect();
        let mut users: Vec<Vec<u32>> = vec![Vec::new(); ground.atoms.len()];
        let (mut depends, mut open) = (vec![false; ground.atoms.len()], Vec::new());
        for atom in 0..ground.atoms.len() as u32 {
            for literal in ground.instances(atom).flatten() {
                let supposed = match literal.signal {
                    Signal::Move(_) => true,
                    Signal::Fluent(fluent) => control.contains(&fluent),
                    Signal::Atom(inner) => {
                        users[inner as usize].push(atom);
                        false
                    }
                };
                if supposed && !std::mem::replace(&mut depends[atom as usize], true) {
                    open.push(atom);
                }
            }
        }
        while let Some(atom) = open.pop() {
            for &user in &users[atom as usize] {
                if !std::mem::replace(&mut depends[user as usize], true) {
                    open.push(user);
                }
            }
        }
        let (fluents, chosen, known, open) = Default::default();
        Reducer { depends, fluents, chosen, known, open, instances_left: instances }
    }

    /// Supposes that a role makes a move, or none of those that matter, and that the others are idle.
    fn suppose(
        &mut self,
        ground: &GroundProgram,
        role: u32,
        chosen: Option<u32>,
        idle: &[Option<u32>],
        control: &[Vec<u32>],
    ) {
        self.known.clear();
        self.open.clear();
        let others = (0..ground.roles.len()).filter(|&other| other != role as usize);
        self.chosen = others.filter_map(|other| idle[other]).chain(chosen).collect();
        self.fluents.clear();
        for (other, fluents) in control.iter().enumerate() {
            self.fluents.extend(fluents.iter().map(|&fluent| (fluent, other == role as usize)));
        }
    }

    /// The value of an atom; `None` if the budget is spent.
    fn atom(&mut self, ground: &mut GroundProgram, atom: u32, depth: usize) -> Option<Value> {
        if !self.depends[atom as usize] {
            return Some(Value::Literal(GroundLiteral { signal: Signal::Atom(atom), negated: false }));
        }
        if let Some(&value) = self.known.get(&atom) {
            return Some(value);
        }
        if depth > MAX_DEPTH {
            return None;
        }
        if let Some(new) = self.open.get_mut(&atom) {
            let new = *new.get_or_insert_with(|| add_atom(ground, &[]));
            return Some(Value::Literal(GroundLiteral { signal: Signal::Atom(new), negated: false }));
        }
        self.open.insert(atom, None);
        let instances: Vec<Vec<GroundLiteral>> = ground.instances(atom).map(<[_]>::to_vec).collect();
        let mut left: Vec<Vec<GroundLiteral>> = Vec::new();
        let mut holds = false;
        for instance in instances {
            self.instances_left = self.instances_left.checked_sub(1)?;
            let mut literals = Vec::new();
            let mut possible = true;
            // Moves decide most instances, so they come first.
            let is_move = |literal: &&GroundLiteral| matches!(literal.signal, Signal::Move(_));
            let (moves, rest): (Vec<&GroundLiteral>, Vec<&GroundLiteral>) = instance.iter().partition(is_move);
            for literal in moves.into_iter().chain(rest) {
                let value = match literal.signal {
                    Signal::Move(chosen) => Value::Constant(self.chosen.contains(&chosen)),
                    Signal::Fluent(fluent) => match self.fluents.get(&fluent) {
                        Some(&value) => Value::Constant(value),
                        None => Value::Literal(GroundLiteral { negated: false, ..*literal }),
                    },
                    Signal::Atom(inner) => self.atom(ground, inner, depth + 1)?,
                };
                match value.invert_if(literal.negated) {
                    Value::Constant(true) => {}
                    Value::Constant(false) => {
                        possible = false;
                        break;
                    }
                    Value::Literal(literal) => literals.push(literal),
                }
            }
            if possible && literals.is_empty() {
                holds = true;
                break;
            }
            if possible {
                literals.sort_unstable();
                literals.dedup();
                left.push(literals);
            }
        }
        if holds {
            left = vec![Vec::new()];
        }
        let new = self.open.remove(&atom).flatten();
        if let Some(new) = new {
            define(ground, new, &left);
        }
        let value = match (&left[..], new) {
            ([], _) => Value::Constant(false),
            ([instance], _) if instance.is_empty() => Value::Constant(true),
            ([instance], None) if instance.len() == 1 => Value::Literal(instance[0]),
            (_, new) => {
                let new = new.unwrap_or_else(|| add_atom(ground, &left));
                Value::Literal(GroundLiteral { signal: Signal::Atom(new), negated: false })
            }
        };
        self.known.insert(atom, value);
        Some(value)
    }
}

/// Writes the rules that say which moves could be made.
struct Relaxer<'a> {
    rules: &'a [Rule],
    control: &'a FxHashSet<Term>,
    program: Program,
    /// Relations with the arguments that hold the role, and their relaxed forms.
    relaxed: FxHashMap<(Relation, Vec<usize>), SymbolId>,
    open: Vec<(Relation, Vec<usize>, SymbolId)>,
    derived: FxHashSet<Relation>,
}

impl Relaxer<'_> {
    fn relax(program: &Program, control: &FxHashSet<Term>) -> (Program, Relation) {
        let mut relaxer = Relaxer {
            rules: &program.rules,
            control,
            program: program.clone(),
            relaxed: FxHashMap::default(),
            open: Vec::new(),
            derived: insight::universe::dynamic_relations(program).into_keys().collect(),
        };
        let legal = Relation { name: keyword::LEGAL, arity: 2 };
        let name = relaxer.relation(legal, vec![0]);
        while let Some((relation, roles, name)) = relaxer.open.pop() {
            for rule in program.rules.iter().filter(|rule| rule.head.relation() == relation) {
                let rule = relaxer.rule(rule, &roles, name);
                relaxer.program.rules.push(rule);
            }
        }
        (relaxer.program, Relation { name, arity: 2 })
    }

    fn relation(&mut self, relation: Relation, roles: Vec<usize>) -> SymbolId {
        if let Some(&name) = self.relaxed.get(&(relation, roles.clone())) {
            return name;
        }
        // No name of a rule text holds a space.
        let name = self.program.symbols.intern(&format!("could {}", self.relaxed.len()));
        self.relaxed.insert((relation, roles.clone()), name);
        self.open.push((relation, roles, name));
        name
    }

    fn rule(&mut self, rule: &Rule, roles: &[usize], name: SymbolId) -> Rule {
        let head = Atom { name, ..rule.head.clone() };
        let of_role: Vec<&Term> = roles.iter().map(|&position| &rule.head.args[position]).collect();
        let mut role_vars = BTreeSet::new();
        of_role.iter().for_each(|term| term.for_each_var(&mut |var| _ = role_vars.insert(var)));
        // Step 1. The variables and constants that are connected with the arguments.
        let (mut connected, mut constants) = (BTreeSet::new(), BTreeSet::new());
        for (_, arg) in rule.head.args.iter().enumerate().filter(|(at, _)| !roles.contains(at)) {
            arg.for_each_var(&mut |var| _ = connected.insert(var));
            constants_of(arg, true, &mut constants);
        }
        let by_constants = connected.is_empty();
        connected.retain(|var| !role_vars.contains(var));
        let mut conjuncts = Vec::new();
        rule.body.iter().for_each(|formula| flatten(formula, &mut conjuncts));
        let vars = |formula: &Formula| {
            let mut vars = BTreeSet::new();
            formula.for_each_var(&mut |var| _ = vars.insert(var));
            vars
        };
        loop {
            let before = connected.len();
            for conjunct in &conjuncts {
                let own = vars(conjunct);
                if !own.is_disjoint(&connected) {
                    connected.extend(own.difference(&role_vars).copied());
                }
            }
            if connected.len() == before {
                break;
            }
        }
        // Step 2. What stays.
        let (mut kept, mut dropped) = (Vec::new(), Vec::new());
        for conjunct in conjuncts {
            let mut own = BTreeSet::new();
            formula_constants(conjunct, &mut own);
            let related = !vars(conjunct).is_disjoint(&connected) || by_constants && !own.is_disjoint(&constants);
            if related && !self.is_control(conjunct) { kept.push(conjunct) } else { dropped.push(conjunct) }
        }
        // A condition on the turn that gives a variable its value has to stay.
        loop {
            let bound: BTreeSet<VarId> = kept.iter().flat_map(|formula| formula.binds()).collect();
            let needed: BTreeSet<VarId> =
                kept.iter().flat_map(|formula| vars(formula)).filter(|var| connected.contains(var)).collect();
            let missing =
                |formula: &&Formula| formula.binds().iter().any(|var| !bound.contains(var) && needed.contains(var));
            match dropped.iter().position(missing) {
                Some(index) => kept.push(dropped.remove(index)),
                None => break,
            }
        }
        // Step 3. The rule.
        let mut body: Vec<Formula> = kept.into_iter().map(|formula| self.relaxed(formula, &of_role)).collect();
        let bound: BTreeSet<VarId> = body.iter().flat_map(Formula::binds).collect();
        let mut needed = role_vars.clone();
        body.iter().for_each(|formula| needed.extend(vars(formula).intersection(&role_vars)));
        for var in needed.difference(&bound) {
            let args = vec![Term::Var(*var)];
            body.push(Formula::Atom(Atom { name: keyword::ROLE, args, span: Span::default() }));
        }
        Rule { head, body, variables: rule.variables.clone(), span: rule.span }
    }

    /// A condition with its positive atom relaxed.
    fn relaxed(&mut self, formula: &Formula, of_role: &[&Term]) -> Formula {
        match formula {
            Formula::Atom(atom)
                if self.derived.contains(&atom.relation())
                    && !matches!(atom.name, keyword::TRUE | keyword::DOES)
                    && self.rules.iter().any(|rule| rule.head.relation() == atom.relation()) =>
            {
                let roles = (0..atom.args.len()).filter(|&at| of_role.contains(&&atom.args[at])).collect();
                Formula::Atom(Atom { name: self.relation(atom.relation(), roles), ..atom.clone() })
            }
            other => other.clone(),
        }
    }

    /// Whether a condition says whose turn it is, and nothing else.
    fn is_control(&self, formula: &Formula) -> bool {
        match formula {
            Formula::Not(inner, _) => self.is_control(inner),
            Formula::Atom(Atom { name: keyword::TRUE, args, .. }) => {
                self.control.iter().any(|fluent| may_be(&args[0], fluent)) && !matches!(args[0], Term::Var(_))
            }
            _ => false,
        }
    }
}

fn flatten<'f>(formula: &'f Formula, conjuncts: &mut Vec<&'f Formula>) {
    match formula {
        Formula::And(parts, _) => parts.iter().for_each(|part| flatten(part, conjuncts)),
        other => conjuncts.push(other),
    }
}

/// Whether a term with variables may become a ground term.
fn may_be(pattern: &Term, ground: &Term) -> bool {
    match (pattern, ground) {
        (Term::Var(_), _) => true,
        (Term::Func(name, args), Term::Func(other, others)) => {
            name == other
                && args.len() == others.len()
                && args.iter().zip(others).all(|(arg, other)| may_be(arg, other))
        }
        _ => pattern == ground,
    }
}

/// The constants of a term; that at its top only if it stands for itself.
fn constants_of(term: &Term, top: bool, found: &mut BTreeSet<SymbolId>) {
    match term {
        Term::Var(_) => {}
        Term::Const(name) if !top => _ = found.insert(*name),
        Term::Const(_) => {}
        Term::Func(_, args) => args.iter().for_each(|arg| constants_of(arg, false, found)),
    }
}

fn formula_constants(formula: &Formula, found: &mut BTreeSet<SymbolId>) {
    match formula {
        Formula::Atom(atom) => atom.args.iter().for_each(|arg| constants_of(arg, false, found)),
        Formula::Distinct(left, right, _) => {
            constants_of(left, false, found);
            constants_of(right, false, found);
        }
        Formula::Not(inner, _) => formula_constants(inner, found),
        Formula::Or(parts, _) | Formula::And(parts, _) => {
            parts.iter().for_each(|part| formula_constants(part, found));
        }
    }
}

#[cfg(test)]
mod tests;
