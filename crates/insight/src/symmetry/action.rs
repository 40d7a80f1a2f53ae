//! What symmetries do to the states and moves of a network.
//!
//! A network leaves out fluents that never change and those that equal another or its opposite. So the image of a
//! network's fluent may be the opposite of one: swapping the colours turns `white to move` round.

use gdl::TermId;
use gdl::ground::GroundProgram;
use machine::network::Network;
use rustc_hash::FxHashMap;

use super::Symmetry;

/// Where the fluents and moves of a ground program are found in its network.
#[derive(Clone, Debug)]
pub struct Translation {
    fluents: Vec<Place>,
    /// The fluent of the ground program that each fluent of the network is.
    named: Vec<u32>,
    /// The move of the network, for each move of the ground program that can ever be legal.
    moves: Vec<Option<u32>>,
    n_moves: usize,
}

/// What a fluent of the ground program is in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It never changes.
    Constant(bool),
    /// It is a fluent of the network, or its opposite if inverted.
    Fluent(u32, bool),
}

impl Place {
    fn invert_if(self, invert: bool) -> Place {
        match self {
            Place::Constant(value) => Place::Constant(value != invert),
            Place::Fluent(fluent, inverted) => Place::Fluent(fluent, inverted != invert),
        }
    }
}

impl Translation {
    /// The translation from a ground program to the network that was built from it.
    pub fn new(ground: &GroundProgram, network: &Network) -> Translation {
        let mut places: FxHashMap<TermId, Place> =
            network.constant_fluents.iter().map(|&term| (term, Place::Constant(true))).collect();
        let equal = network.equal_fluents.iter();
        places.extend(equal.map(|&(term, other, inverted)| (term, Place::Fluent(other, inverted))));
        let own = network.fluents.iter().enumerate();
        places.extend(own.map(|(index, &term)| (term, Place::Fluent(index as u32, false))));
        let place = |term| places.get(term).copied().unwrap_or(Place::Constant(false));
        let number: FxHashMap<TermId, u32> =
            ground.fluents.iter().enumerate().map(|(index, &term)| (term, index as u32)).collect();
        let mut moves: FxHashMap<(u32, TermId), u32> = FxHashMap::default();
        for (role, range) in network.moves_of.iter().enumerate() {
            moves.extend(range.clone().map(|chosen| ((role as u32, network.moves[chosen as usize]), chosen)));
        }
        Translation {
            fluents: ground.fluents.iter().map(place).collect(),
            named: network.fluents.iter().map(|term| number[term]).collect(),
            moves: ground.moves.iter().map(|chosen| moves.get(chosen).copied()).collect(),
            n_moves: network.moves.len(),
        }
    }

    /// What a symmetry does to states of the network. `None` if it takes some of them to states that the network can't
    /// represent: such a symmetry does not fix the initial state, and no match from there needs it.
    pub fn action(&self, symmetry: &Symmetry) -> Option<Action> {
        // Step 1. Each fluent holds in the image if the fluent that is taken to it holds in the state.
        let mut source = vec![Place::Constant(false); self.fluents.len()];
        for (fluent, &to) in symmetry.fluents.iter().enumerate() {
            source[to as usize] = self.fluents[fluent];
        }
        // Step 2. What is known of all states must be true of the image, too.
        let is_kept = |(fluent, &place): (usize, &Place)| match place {
            Place::Constant(_) => source[fluent] == place,
            Place::Fluent(same, inverted) => {
                source[fluent] == source[self.named[same as usize] as usize].invert_if(inverted)
            }
        };
        if !self.fluents.iter().enumerate().all(is_kept) {
            return None;
        }
        let n_fluents = self.named.len();
        let mut flipped = vec![0; n_fluents.div_ceil(64)].into_boxed_slice();
        let mut fluents = vec![u32::MAX; n_fluents];
        for (fluent, &named) in self.named.iter().enumerate() {
            let Place::Fluent(from, inverted) = source[named as usize] else { return None };
            fluents[from as usize] = fluent as u32;
            flipped[fluent / 64] |= u64::from(inverted) << (fluent % 64);
        }
        let mut moves = vec![u32::MAX; self.n_moves];
        for (chosen, &to) in symmetry.moves.iter().enumerate() {
            if let (Some(from), Some(to)) = (self.moves[chosen], self.moves[to as usize]) {
                moves[from as usize] = to;
            }
        }
        let is_total = !fluents.contains(&u32::MAX) && !moves.contains(&u32::MAX);
        is_total.then(|| Action { fluents, flipped, moves, roles: symmetry.roles.clone() })
    }
}

/// What a symmetry does to states and moves of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    fluents: Vec<u32>,
    /// The image of the state in which no fluent holds.
    flipped: Box<[u64]>,
    /// The image of each move.
    pub moves: Vec<u32>,
    /// The image of each role.
    pub roles: Vec<u32>,
}

impl Action {
    /// The image of a state, one bit for each fluent.
    pub fn state(&self, bits: &[u64]) -> Box<[u64]> {
        let mut image = self.flipped.clone();
        for (index, &word) in bits.iter().enumerate() {
            let mut word = word;
            while word != 0 {
                let fluent = index * 64 + word.trailing_zeros() as usize;
                let to = self.fluents[fluent] as usize;
                image[to / 64] ^= 1 << (to % 64);
                word &= word - 1;
            }
        }
        image
    }

    /// Where a fluent goes, and whether the opposite of it does.
    pub fn fluent(&self, fluent: u32) -> (u32, bool) {
        let to = self.fluents[fluent as usize];
        (to, self.flipped[to as usize / 64] >> (to % 64) & 1 == 1)
    }

    /// The image of a joint move, one move for each role in the order of the roles.
    pub fn joint(&self, joint: &[u32]) -> Box<[u32]> {
        let mut image = vec![0; joint.len()].into_boxed_slice();
        for (role, &chosen) in joint.iter().enumerate() {
            image[self.roles[role] as usize] = self.moves[chosen as usize];
        }
        image
    }
}

/// The least of a state and its images, with the number of the action that leads there; `None` for the state itself. With
/// the actions of all elements of a group, states have the same least image exactly if the group takes one to the other.
pub fn canonical_state(actions: &[Action], bits: &[u64]) -> (Box<[u64]>, Option<usize>) {
    let mut least: (Box<[u64]>, Option<usize>) = (bits.into(), None);
    for (number, action) in actions.iter().enumerate() {
        let image = action.state(bits);
        if image < least.0 {
            least = (image, Some(number));
        }
    }
    least
}
