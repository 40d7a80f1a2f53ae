//! Evaluating compiled features: in many states at once ([`bulk`]), and from state to state in search ([`incremental`]).

pub mod bulk;
pub mod incremental;

use std::sync::Arc;

use machine::network::Network;

/// Features as sums: the value of a feature is the sum of the weights of its formulas that hold.
#[derive(Clone, Debug)]
pub struct Sums {
    /// The network; its formulas are conditions on the state.
    pub network: Arc<Network>,
    /// For each feature, formulas with what they add.
    pub features: Vec<Vec<(u32, i32)>>,
}
