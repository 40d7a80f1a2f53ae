//! The only module that calls nauty (B. McKay and A. Piperno, "Practical graph isomorphism II", 2014).
//!
//! nauty's fastest routines are for undirected graphs, so a node becomes a path of three: its beginning, its middle and its
//! end. Colours keep them apart, and an edge goes from the beginning of one node to the end of another.

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use gdl::Stop;
use nauty_Traces_sys as sys;

use super::{Graph, Labelling, MAX_MOVES, Moves, TooHard};

/// What searches may still do.
#[derive(Clone, Default)]
pub(super) struct Left {
    /// Nodes of search trees.
    pub(super) nodes: u64,
    /// Nodes of graphs that generators may move.
    pub(super) moves: usize,
    pub(super) stop: Stop,
}

/// What the callbacks of the search that runs on this thread have seen.
#[derive(Default)]
struct Watch {
    generators: Vec<Moves>,
    n: usize,
    left: Left,
    /// Why the search was ended.
    ended: Option<TooHard>,
}

impl Watch {
    fn end(&mut self, why: TooHard) {
        self.ended.get_or_insert(why);
        // SAFETY: the lock is held, so that no other search reads it.
        unsafe { sys::nauty_kill_request = 1 };
    }
}

thread_local! {
    static WATCH: RefCell<Watch> = RefCell::default();
}

/// One search at a time: the request to stop concerns the whole process.
static SEARCHING: Mutex<()> = Mutex::new(());

/// Labels a graph that is not empty.
pub(super) fn label(graph: &Graph, left: &mut Left) -> Result<Labelling, TooHard> {
    let n = graph.colors.len();
    // Step 1. Lists of neighbours; node `v` begins at `v`, has its middle at `n + v` and ends at `2n + v`.
    let mut sparse = sys::SparseGraph::new(3 * n, 2 * (2 * n + graph.edges.len()));
    let paths = (0..n).flat_map(|node| [(node, n + node), (n + node, 2 * n + node)]);
    let joined = paths.chain(graph.edges.iter().map(|&(from, to)| (from as usize, 2 * n + to as usize)));
    let both = |(from, to): (usize, usize)| [(from, to), (to, from)];
    joined.clone().flat_map(both).for_each(|(from, _)| sparse.d[from] += 1);
    for node in 1..3 * n {
        sparse.v[node] = sparse.v[node - 1] + sparse.d[node - 1] as usize;
    }
    let mut next = sparse.v.clone();
    for (from, to) in joined.flat_map(both) {
        sparse.e[next[from]] = to as c_int;
        next[from] += 1;
    }
    // Step 2. The colours: beginnings by colour, then middles, then ends. `ptn` is zero where a colour's nodes end.
    let mut lab: Vec<c_int> = (0..3 * n as c_int).collect();
    let color = |node: c_int| (node as usize / n, graph.colors[node as usize % n]);
    lab.sort_by_key(|&node| color(node));
    let mut ptn: Vec<c_int> = lab.windows(2).map(|pair| c_int::from(color(pair[0]) == color(pair[1]))).collect();
    ptn.push(0);
    // Step 3. Search.
    let mut options = sys::optionblk {
        getcanon: sys::TRUE,
        defaultptn: sys::FALSE,
        userautomproc: Some(on_automorphism),
        usernodeproc: Some(on_node),
        ..sys::optionblk::default_sparse()
    };
    let (mut orbits, mut stats) = (vec![0; 3 * n], sys::statsblk::default());
    let mut canonical = sys::SparseGraph::new(3 * n, sparse.e.len());
    let searching = SEARCHING.lock().unwrap_or_else(PoisonError::into_inner);
    WATCH.set(Watch { n, left: left.clone(), ..Watch::default() });
    // SAFETY: the arrays have the lengths that nauty expects (a place for each of 3n nodes and each end of an edge), and
    // live until it returns. It grows `canonical` only if that is too small, and it isn't. No other search runs.
    unsafe {
        sys::nauty_kill_request = 0;
        sys::sparsenauty(
            &mut (&mut sparse).into(),
            lab.as_mut_ptr(),
            ptn.as_mut_ptr(),
            orbits.as_mut_ptr(),
            &mut options,
            &mut stats,
            &mut (&mut canonical).into(),
        );
        sys::nauty_kill_request = 0;
    }
    drop(searching);
    let watch = WATCH.take();
    *left = watch.left;
    // A search may come to its end before it sees the request; but it needs all generators.
    match watch.ended {
        Some(why) if stats.errstatus != 0 || matches!(why, TooHard::Moves(_)) => return Err(why),
        None if stats.errstatus != 0 => return Err(TooHard::Nodes(0)),
        _ => {}
    }
    let order = lab[..n].iter().map(|&node| node as u32).collect();
    let orbits = orbits[..n].iter().map(|&node| node as u32).collect();
    Ok(Labelling { order, generators: watch.generators, orbits, group_size: (stats.grpsize1, stats.grpsize2) })
}

unsafe extern "C" fn on_automorphism(_: c_int, image: *mut c_int, _: *mut c_int, _: c_int, _: c_int, n: c_int) {
    // SAFETY: nauty passes the images of all nodes.
    let image = unsafe { std::slice::from_raw_parts(image, n as usize) };
    WATCH.with_borrow_mut(|watch| {
        let all = (0..).zip(&image[..watch.n]).map(|(node, &to)| (node, to as u32));
        let moves: Moves = all.filter(|(node, to)| node != to).collect();
        match watch.left.moves.checked_sub(moves.len()) {
            Some(left) => {
                watch.left.moves = left;
                watch.generators.push(moves);
            }
            None => watch.end(TooHard::Moves(MAX_MOVES)),
        }
    });
}

unsafe extern "C" fn on_node(
    _: *mut sys::graph,
    _: *mut c_int,
    _: *mut c_int,
    _: c_int,
    _: c_int,
    _: c_int,
    _: c_int,
    _: c_int,
    _: c_int,
) {
    WATCH.with_borrow_mut(|watch| {
        if watch.left.nodes == 0 {
            watch.end(TooHard::Nodes(0));
        } else if watch.left.stop.is_raised() {
            watch.end(TooHard::Stopped);
        }
        watch.left.nodes = watch.left.nodes.saturating_sub(1);
    });
}
