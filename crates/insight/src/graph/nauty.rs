//! The only module that calls nauty (B. McKay and A. Piperno, "Practical graph isomorphism II", 2014).
//!
//! nauty's fastest routines are for undirected graphs, so a node becomes a path of three: its beginning, its middle and its
//! end. Colours keep them apart, and an edge goes from the beginning of one node to the end of another.

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use nauty_Traces_sys as sys;

use super::{Graph, Labelling};

/// What the callbacks of the search that runs on this thread have seen.
#[derive(Default)]
struct Watch {
    generators: Vec<Vec<u32>>,
    nodes_left: u64,
}

thread_local! {
    static WATCH: RefCell<Watch> = RefCell::default();
}

/// One search at a time: the request to stop concerns the whole process.
static SEARCHING: Mutex<()> = Mutex::new(());

/// Labels a graph that is not empty; `None` if that takes too many nodes of the search tree.
pub(super) fn label(graph: &Graph, n_nodes_left: &mut u64) -> Option<Labelling> {
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
    WATCH.set(Watch { generators: Vec::new(), nodes_left: *n_nodes_left });
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
    *n_nodes_left = watch.nodes_left;
    if stats.errstatus != 0 {
        return None;
    }
    let order = lab[..n].iter().map(|&node| node as u32).collect();
    let mut generators = watch.generators;
    generators.iter_mut().for_each(|generator| generator.truncate(n));
    let orbits = orbits[..n].iter().map(|&node| node as u32).collect();
    Some(Labelling { order, generators, orbits, group_size: (stats.grpsize1, stats.grpsize2) })
}

unsafe extern "C" fn on_automorphism(_: c_int, image: *mut c_int, _: *mut c_int, _: c_int, _: c_int, n: c_int) {
    // SAFETY: nauty passes the images of all nodes.
    let image = unsafe { std::slice::from_raw_parts(image, n as usize) };
    WATCH.with_borrow_mut(|watch| watch.generators.push(image.iter().map(|&node| node as u32).collect()));
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
        if watch.nodes_left == 0 {
            // SAFETY: the lock is held, so that no other search reads it.
            unsafe { sys::nauty_kill_request = 1 };
        }
        watch.nodes_left = watch.nodes_left.saturating_sub(1);
    });
}
