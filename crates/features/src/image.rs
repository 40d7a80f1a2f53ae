//! Images of features under the symmetries of a game; that under an exchange of roles is the opponent's mirror image.
//!
//! The image of a feature has in every state the value that the feature has in the state's image. A symmetry permutes ground
//! fluents and moves; here it is read as maps of the values in each place: `cell`'s second argument `2` becomes `7`.
//! Constants are mapped where they stand, and a variable stands for the image of its value. A static relation then holds of the
//! images of its rows: this is another relation of the rules, or the same with its arguments exchanged, or a list of rows.
//!
//! Relations that depend on the state have no places of their own among fluents and moves. Their arguments are mapped as
//! the same values are elsewhere, and the caller checks the image on positions ([`Images::of_checked`]).

use std::sync::Arc;

use gdl::TermId;
use gdl::keyword;
use gdl::program::{Relation, Term, VarId};
use gdl::symbol::SymbolId;
use insight::symmetry::{Action, Symmetry, Translation};
use rustc_hash::FxHashMap;

use crate::columns::{Columns, term};
use crate::feature::{Axis, Feature, Weight};
use crate::formula::{Atom, Formula};
use crate::game::{Game, Views};

/// The most arguments of a fluent or move whose order is looked for.
const MAX_ARGUMENTS: usize = 5;

/// A place where values stand: a function of fluents or of moves and the number of an argument. A role has the function `role`.
type Place = (bool, SymbolId, usize);
type Values = FxHashMap<Term, Term>;
/// The arguments of a term, and the function and arguments of its image.
type Pair = (Vec<Term>, SymbolId, Vec<Term>);

/// How a symmetry maps terms with one function.
#[derive(Clone, Debug)]
struct Shape {
    name: SymbolId,
    /// Where each argument of the image comes from.
    from: Vec<usize>,
}

/// What a symmetry does to features.
pub struct Images {
    /// What it does to states.
    pub action: Action,
    /// The image of each role.
    pub roles: Vec<u32>,
    /// For fluents (`false`) and moves (`true`) with a function of some arity, the function of their images.
    shapes: FxHashMap<(bool, SymbolId, usize), Shape>,
    values: FxHashMap<Place, Values>,
    statics: FxHashMap<Relation, Vec<Vec<Term>>>,
    is_dynamic: FxHashMap<Relation, bool>,
}

/// The proved symmetries that generate all others, as far as they act on fluents and moves argument by argument.
pub fn find(game: &Game, seed: u64) -> Vec<Images> {
    let (Some(ground), Some(found)) = (&game.circuit.ground, game.symmetries(seed)) else { return Vec::new() };
    let translation = Translation::new(ground, &game.circuit.network);
    found.generators.iter().filter_map(|symmetry| Images::new(game, &translation, symmetry)).collect()
}

impl Images {
    /// Reads a symmetry as maps of values; `None` if it can't be read so.
    pub fn new(game: &Game, translation: &Translation, symmetry: &Symmetry) -> Option<Images> {
        let ground = game.circuit.ground.as_ref()?;
        let action = translation.action(symmetry)?;
        let mut images = Images {
            action,
            roles: symmetry.roles.clone(),
            shapes: FxHashMap::default(),
            values: FxHashMap::default(),
            statics: FxHashMap::default(),
            is_dynamic: insight::universe::dynamic_relations(&game.program),
        };
        let own = |id: TermId| term(&ground.terms, id);
        let fluent = |at: usize| own(ground.fluents[at]);
        let pairs = (0..ground.fluents.len()).map(|at| (fluent(at), fluent(symmetry.fluents[at] as usize))).collect();
        images.read(false, pairs)?;
        let chosen = |at: usize| own(ground.moves[at].1);
        let pairs = (0..ground.moves.len()).map(|at| (chosen(at), chosen(symmetry.moves[at] as usize))).collect();
        images.read(true, pairs)?;
        let role = |at: usize| own(ground.roles[at]);
        let roles = (0..ground.roles.len()).map(|at| (role(at), role(symmetry.roles[at] as usize))).collect();
        images.values.insert((true, keyword::ROLE, 0), roles);
        let universe = &game.universe;
        for facts in &universe.statics {
            let row = |row: &Vec<TermId>| row.iter().map(|&id| term(&universe.terms, id)).collect();
            images.statics.insert(facts.relation, facts.rows.iter().map(row).collect());
        }
        Some(images)
    }

    /// Finds for each function the order of arguments and the map of values that the pairs agree with.
    fn read(&mut self, is_move: bool, pairs: Vec<(Term, Term)>) -> Option<()> {
        let mut by_function: indexmap::IndexMap<(SymbolId, usize), Vec<Pair>> = indexmap::IndexMap::new();
        for (from, to) in pairs {
            let ((name, args), (image, image_args)) = (parts(&from), parts(&to));
            by_function.entry((name, args.len())).or_default().push((args.to_vec(), image, image_args.to_vec()));
        }
        for ((name, arity), rows) in by_function {
            let image = rows[0].1;
            if arity > MAX_ARGUMENTS || rows.iter().any(|row| row.1 != image || row.2.len() != arity) {
                return None;
            }
            let (from, maps) = orders(arity).into_iter().find_map(|from| {
                let mut maps: Vec<Values> = vec![Values::default(); arity];
                for (args, _, image) in &rows {
                    for (to, &at) in from.iter().enumerate() {
                        if *maps[at].entry(args[at].clone()).or_insert_with(|| image[to].clone()) != image[to] {
                            return None;
                        }
                    }
                }
                Some((from, maps))
            })?;
            for (at, map) in maps.into_iter().enumerate() {
                self.values.insert((is_move, name, at), map);
            }
            self.shapes.insert((is_move, name, arity), Shape { name: image, from });
        }
        Some(())
    }

    /// Whether roles are exchanged.
    pub fn exchanges_roles(&self) -> bool {
        self.roles.iter().enumerate().any(|(role, &image)| role as u32 != image)
    }

    /// The feature whose value in a state is that of `feature` in the state's image; `None` if it can't be written down.
    pub fn of(&self, feature: &Feature) -> Option<Feature> {
        // The image of the feature asks of `s` what the feature asks of the image of `s`: so values go back.
        let mut reader = Reader { images: self, maps: FxHashMap::default() };
        reader.variables(&feature.formula)?;
        let formula = reader.formula(&feature.formula)?;
        let list = feature.list.clone();
        let weight = reader.weight(&feature.weight)?;
        Some(Feature { weight, list, formula })
    }

    /// The image of a feature, if it has the right values in all positions of a sample.
    pub fn of_checked(&self, feature: &Feature, here: &mut Columns, there: &mut Columns) -> Option<Feature> {
        let image = self.of(feature)?;
        (here.values(&image)? == there.values(feature)?).then_some(image)
    }

    /// The columns of the images of states.
    pub fn columns(&self, game: &Game, views: &Views, states: &[&[u64]]) -> Columns {
        let images: Vec<Box<[u64]>> = states.iter().map(|state| self.action.state(state)).collect();
        Columns::new(game, views, &images.iter().map(|state| &state[..]).collect::<Vec<_>>())
    }
}

/// The function of a term and its arguments.
fn parts(term: &Term) -> (SymbolId, &[Term]) {
    match term {
        Term::Const(name) => (*name, &[]),
        Term::Func(name, args) => (*name, args),
        Term::Var(_) => unreachable!("fluents and moves are ground"),
    }
}

/// All orders of so many arguments, the given one first.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for _ in 0..n {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                (0..n).filter(|at| !order.contains(at)).map(|at| [&order[..], &[at]].concat()).collect::<Vec<_>>()
            })
            .collect();
    }
    orders
}

/// Writes the image of one formula. A symmetry takes the state `s` to `s'`, and a fluent holds in `s'` if the fluent that is
/// taken to it holds in `s`: so terms are mapped by the inverse.
struct Reader<'a> {
    images: &'a Images,
    /// For each variable with a place among fluents or moves, the image of each of its values.
    maps: FxHashMap<VarId, Values>,
}

impl Reader<'_> {
    /// Finds where variables stand; `None` if a variable stands in places that are mapped differently.
    fn variables(&mut self, formula: &Formula) -> Option<()> {
        let mut all_agree = true;
        formula.for_each_atom(&mut |atom, _| {
            let places = match (atom.name, atom.args.len()) {
                (keyword::TRUE, 1) => self.places(false, &atom.args[0]),
                (keyword::LEGAL, 2) => {
                    let role = vec![((true, keyword::ROLE, 0), atom.args[0].clone())];
                    [role, self.places(true, &atom.args[1])].concat()
                }
                (keyword::GOAL, 2) | (keyword::ROLE, 1) => vec![((true, keyword::ROLE, 0), atom.args[0].clone())],
                _ => Vec::new(),
            };
            for (place, value) in places {
                let Term::Var(var) = value else { continue };
                let Some(back) = self.back(place) else {
                    all_agree = false;
                    continue;
                };
                let map = self.maps.entry(var).or_default();
                for (from, to) in back {
                    all_agree &= *map.entry(from).or_insert_with(|| to.clone()) == to;
                }
            }
        });
        all_agree.then_some(())
    }

    /// The places of the arguments of a fluent or move, and what stands there.
    fn places(&self, is_move: bool, term: &Term) -> Vec<(Place, Term)> {
        match term {
            Term::Func(name, args) => {
                args.iter().cloned().enumerate().map(|(at, arg)| ((is_move, *name, at), arg)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// For each value at a place of the image, the value that is taken to it.
    fn back(&self, (is_move, name, at): Place) -> Option<Values> {
        let images = self.images;
        if name == keyword::ROLE {
            return Some(
                images.values[&(is_move, name, at)].iter().map(|(from, to)| (to.clone(), from.clone())).collect(),
            );
        }
        // The place in the image belongs to the function that is taken to `name`.
        let (&(_, source, _), shape) = images
            .shapes
            .iter()
            .find(|((of_moves, _, arity), shape)| *of_moves == is_move && shape.name == name && *arity > at)?;
        let map = images.values.get(&(is_move, source, shape.from[at]))?;
        Some(map.iter().map(|(from, to)| (to.clone(), from.clone())).collect())
    }

    /// The image of a fluent or move with variables.
    fn pattern(&self, is_move: bool, pattern: &Term) -> Option<Term> {
        let (name, args): (SymbolId, &[Term]) = match pattern {
            // Whole fluents or moves go through all values; should the variable stand elsewhere, too, positions tell.
            Term::Var(_) => return Some(pattern.clone()),
            Term::Const(name) => (*name, &[]),
            Term::Func(name, args) => (*name, args),
        };
        let (&(_, source, _), shape) =
            self.images.shapes.iter().find(|((of_moves, _, arity), shape)| {
                *of_moves == is_move && shape.name == name && *arity == args.len()
            })?;
        if args.is_empty() {
            return Some(Term::Const(source));
        }
        let mut image: Vec<Option<Term>> = vec![None; args.len()];
        for (at, arg) in args.iter().enumerate() {
            let value = match arg {
                Term::Var(_) => arg.clone(),
                ground => self.back((is_move, name, at))?.get(ground)?.clone(),
            };
            image[shape.from[at]] = Some(value);
        }
        Some(Term::Func(source, image.into_iter().collect::<Option<Vec<Term>>>()?.into()))
    }

    fn formula(&self, formula: &Formula) -> Option<Formula> {
        let each = |parts: &[Formula]| parts.iter().map(|part| self.formula(part)).collect::<Option<Vec<Formula>>>();
        Some(match formula {
            Formula::And(parts) => Formula::And(each(parts)?),
            Formula::Or(parts) => Formula::Or(each(parts)?),
            Formula::Not(inner) => Formula::Not(Box::new(self.formula(inner)?)),
            Formula::Equal(left, right) => {
                let (left, right) = self.pair(left, right)?;
                Formula::Equal(left, right)
            }
            Formula::Distinct(left, right) => {
                let (left, right) = self.pair(left, right)?;
                Formula::Distinct(left, right)
            }
            Formula::Member(terms, rows) => self.list(terms, rows)?,
            Formula::Atom(atom) => self.atom(atom)?,
        })
    }

    /// Two terms that are compared: constants are mapped like the variable beside them.
    fn pair(&self, left: &Term, right: &Term) -> Option<(Term, Term)> {
        let map = [left, right].into_iter().find_map(|term| match term {
            Term::Var(var) => self.maps.get(var),
            _ => None,
        });
        let image = |term: &Term| match (term, map) {
            (Term::Var(var), Some(map)) if self.maps.get(var).is_some_and(|own| own != map) => None,
            (Term::Var(_), _) | (_, None) => Some(term.clone()),
            (ground, Some(map)) => map.get(ground).cloned(),
        };
        Some((image(left)?, image(right)?))
    }

    fn atom(&self, atom: &Atom) -> Option<Formula> {
        let relation = atom.relation();
        let role = |arg: &Term| match arg {
            Term::Var(_) => Some(arg.clone()),
            ground => self.back((true, keyword::ROLE, 0))?.get(ground).cloned(),
        };
        let args = match (relation.name, relation.arity) {
            (keyword::TRUE, 1) => vec![self.pattern(false, &atom.args[0])?],
            (keyword::LEGAL, 2) => vec![role(&atom.args[0])?, self.pattern(true, &atom.args[1])?],
            (keyword::GOAL, 2) => vec![role(&atom.args[0])?, atom.args[1].clone()],
            (keyword::ROLE, 1) => vec![role(&atom.args[0])?],
            (keyword::TERMINAL, 0) => Vec::new(),
            _ if self.images.is_dynamic.contains_key(&relation) => self.guess(&atom.args)?,
            _ => return self.list(&atom.args, self.images.statics.get(&relation)?),
        };
        Some(Formula::Atom(Atom { name: atom.name, args }))
    }

    /// The arguments of a relation that depends on the state: constants are mapped as they are elsewhere. Right or wrong is
    /// for positions to say.
    fn guess(&self, args: &[Term]) -> Option<Vec<Term>> {
        let image = |arg: &Term| {
            if let Term::Var(_) = arg {
                return Some(arg.clone());
            }
            let mut places: Vec<&Place> = self.images.values.keys().collect();
            places.sort_unstable();
            let mut found: Vec<Term> =
                places.into_iter().filter_map(|&place| self.back(place)?.get(arg).cloned()).collect();
            found.sort_unstable();
            found.dedup();
            // What stays in one place and is moved in another is meant as the latter.
            found.iter().find(|image| *image != arg).or(found.first()).cloned()
        };
        args.iter().map(image).collect()
    }

    /// Terms that make one of these rows, mapped: a relation of the rules if there is one that holds of just these, and else
    /// a list.
    fn list(&self, terms: &[Term], rows: &[Vec<Term>]) -> Option<Formula> {
        let vars: Vec<usize> = (0..terms.len()).filter(|&at| matches!(terms[at], Term::Var(_))).collect();
        if terms.iter().any(|term| matches!(term, Term::Func(_, args) if args.iter().any(|arg| !arg.is_ground()))) {
            return None;
        }
        let fits = |row: &&Vec<Term>| {
            terms.iter().zip(*row).all(|(term, value)| matches!(term, Term::Var(_)) || term == value)
        };
        let mut image: Vec<Vec<Term>> = Vec::new();
        for row in rows.iter().filter(fits) {
            let value = |&at: &usize| {
                let Term::Var(var) = &terms[at] else { unreachable!("only variables are mapped") };
                match self.maps.get(var) {
                    // A value that never stands where the variable does can't make the formula true.
                    Some(map) => map.get(&row[at]).cloned(),
                    None => Some(row[at].clone()),
                }
            };
            if let Some(row) = vars.iter().map(value).collect::<Option<Vec<Term>>>() {
                image.push(row);
            }
        }
        image.sort_unstable();
        image.dedup();
        let var_terms: Vec<Term> = vars.iter().map(|&at| terms[at].clone()).collect();
        if vars.is_empty() {
            return Some(if image.is_empty() { Formula::falsehood() } else { Formula::truth() });
        }
        let mut relations: Vec<(&Relation, &Vec<Vec<Term>>)> = self.images.statics.iter().collect();
        relations.sort_unstable_by_key(|(relation, _)| **relation);
        for (relation, rows) in relations.iter().filter(|(relation, _)| relation.arity as usize == vars.len()) {
            for order in orders(vars.len().min(MAX_ARGUMENTS)) {
                if order.len() != vars.len() || rows.len() < image.len() {
                    continue;
                }
                // Rows of the relation with values that the variables never have don't matter.
                let mut own: Vec<Vec<Term>> = rows
                    .iter()
                    .map(|row| order.iter().map(|&at| row[at].clone()).collect::<Vec<Term>>())
                    .filter(|row| self.can_be(&var_terms, row))
                    .collect();
                own.sort_unstable();
                if own == image {
                    let mut args = var_terms.clone();
                    order.iter().enumerate().for_each(|(at, &to)| args[to] = var_terms[at].clone());
                    return Some(Formula::Atom(Atom { name: relation.name, args }));
                }
            }
        }
        Some(Formula::Member(var_terms, Arc::new(image)))
    }

    /// Whether variables may have these values at all, in the image.
    fn can_be(&self, vars: &[Term], row: &[Term]) -> bool {
        vars.iter().zip(row).all(|(term, value)| match term {
            Term::Var(var) => self.maps.get(var).is_none_or(|map| map.values().any(|image| image == value)),
            _ => true,
        })
    }

    fn weight(&self, weight: &Weight) -> Option<Weight> {
        let mapped = |var: VarId, order: &[Term]| -> Option<Arc<Vec<Term>>> {
            let Some(map) = self.maps.get(&var) else { return Some(Arc::new(order.to_vec())) };
            let image: Option<Vec<Term>> = order.iter().map(|value| map.get(value).cloned()).collect();
            image.map(Arc::new)
        };
        Some(match weight {
            Weight::One => Weight::One,
            Weight::Place { var, order } => Weight::Place { var: *var, order: mapped(*var, order)? },
            Weight::Distance { metric, axes } => {
                let axis = |axis: &Axis| {
                    let order = mapped(axis.from, &axis.order)?;
                    (order == mapped(axis.to, &axis.order)?).then_some(Axis { order, ..axis.clone() })
                };
                Weight::Distance { metric: *metric, axes: axes.iter().map(axis).collect::<Option<_>>()? }
            }
            Weight::Table { vars, rows } => {
                let mut pairs = Vec::new();
                for (number, tuples) in rows.iter() {
                    for tuple in tuples {
                        let value = |(var, value): (&VarId, &Term)| match self.maps.get(var) {
                            Some(map) => map.get(value).cloned(),
                            None => Some(value.clone()),
                        };
                        if let Some(image) = vars.iter().zip(tuple).map(value).collect::<Option<Vec<Term>>>() {
                            pairs.push((image, *number));
                        }
                    }
                }
                Weight::table(vars.clone(), pairs)
            }
        })
    }
}
