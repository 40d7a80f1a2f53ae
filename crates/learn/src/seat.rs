//! A player that thinks in a sight's network, seated at a match of the game's own.

use std::sync::Arc;

use machine::RoleId;
use search::{Answer, Limit, Player};

use crate::sight::Sight;

/// Hands states and moves over between the game's own network and a sight's.
pub struct Seat<P> {
    player: P,
    sight: Arc<Sight>,
}

impl<P: Player> Seat<P> {
    /// Seats a player that knows states and moves of the sight's network.
    pub fn new(player: P, sight: Arc<Sight>) -> Seat<P> {
        Seat { player, sight }
    }
}

impl<P: Player> Player for Seat<P> {
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        let mut answer = self.player.choose(&self.sight.views.state(state), role, limit);
        let moves = self.sight.views.moves();
        let rename = |chosen: &mut u32| *chosen = moves[*chosen as usize];
        answer.joint.iter_mut().for_each(rename);
        answer.line.iter_mut().flatten().for_each(rename);
        answer.moves.iter_mut().flatten().for_each(|report| rename(&mut report.chosen));
        answer
    }

    fn goes_on(&self) -> bool {
        self.player.goes_on()
    }

    fn ponder(&mut self, state: &[u64], role: RoleId, stop: &dyn Fn() -> bool) {
        self.player.ponder(&self.sight.views.state(state), role, stop);
    }

    fn begin(&mut self) {
        self.player.begin();
    }
}
