// What we use of nauty 2.9, with 64-bit words, as its headers declare it (nauty.h, nausparse.h).

use std::ffi::{c_double, c_int, c_ulong, c_void};

pub type boolean = c_int;
pub type set = u64;
pub type graph = set;

pub const FALSE: u32 = 0;
pub const TRUE: u32 = 1;
pub const CONSOLWIDTH: u32 = 78;
pub const NTOOBIG: u32 = 1;
pub const MTOOBIG: u32 = 2;
pub const CANONGNIL: u32 = 3;
pub const NAUABORTED: u32 = 4;
pub const NAUKILLED: u32 = 5;
pub const WORDSIZE: u32 = 64;

/// A graph as lists of neighbours.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sparsegraph {
    pub nde: usize,
    pub v: *mut usize,
    pub nv: c_int,
    pub d: *mut c_int,
    pub e: *mut c_int,
    pub w: *mut c_int,
    pub vlen: usize,
    pub dlen: usize,
    pub elen: usize,
    pub wlen: usize,
}

/// The routines for one kind of graph; nauty defines them.
#[repr(C)]
pub struct dispatchvec {
    _opaque: [*mut c_void; 0],
}

pub type invariant = unsafe extern "C" fn(
    *mut graph, *mut c_int, *mut c_int, c_int, c_int, c_int, *mut c_int, c_int, boolean, c_int, c_int,
);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct optionblk {
    pub getcanon: c_int,
    pub digraph: boolean,
    pub writeautoms: boolean,
    pub writemarkers: boolean,
    pub defaultptn: boolean,
    pub cartesian: boolean,
    pub linelength: c_int,
    pub outfile: *mut c_void,
    pub userrefproc: Option<unsafe extern "C" fn()>,
    pub userautomproc: Option<unsafe extern "C" fn(c_int, *mut c_int, *mut c_int, c_int, c_int, c_int)>,
    pub userlevelproc: Option<unsafe extern "C" fn()>,
    pub usernodeproc:
        Option<unsafe extern "C" fn(*mut graph, *mut c_int, *mut c_int, c_int, c_int, c_int, c_int, c_int, c_int)>,
    pub usercanonproc: Option<unsafe extern "C" fn()>,
    pub invarproc: Option<invariant>,
    pub tc_level: c_int,
    pub mininvarlevel: c_int,
    pub maxinvarlevel: c_int,
    pub invararg: c_int,
    pub dispatch: *mut dispatchvec,
    pub schreier: boolean,
    pub extra_options: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct statsblk {
    pub grpsize1: c_double,
    pub grpsize2: c_int,
    pub numorbits: c_int,
    pub numgenerators: c_int,
    pub errstatus: c_int,
    pub numnodes: c_ulong,
    pub numbadleaves: c_ulong,
    pub maxlevel: c_int,
    pub tctotal: c_ulong,
    pub canupdates: c_ulong,
    pub invapplics: c_ulong,
    pub invsuccesses: c_ulong,
    pub invarsuclevel: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TracesOptions {
    pub getcanon: boolean,
    pub writeautoms: boolean,
    pub cartesian: boolean,
    pub digraph: boolean,
    pub defaultptn: boolean,
    pub linelength: c_int,
    pub outfile: *mut c_void,
    pub strategy: c_int,
    pub verbosity: c_int,
    pub generators: *mut *mut c_void,
    pub userautomproc: Option<unsafe extern "C" fn(c_int, *mut c_int, c_int)>,
    pub reserved: *mut c_void,
    pub weighted: boolean,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TracesStats {
    pub grpsize1: c_double,
    pub grpsize2: c_int,
    pub numgenerators: c_int,
    pub numorbits: c_int,
    pub treedepth: c_int,
    pub canupdates: c_int,
    pub errstatus: c_int,
    pub numnodes: c_ulong,
    pub interrupted: c_ulong,
    pub peaknodes: c_ulong,
}

unsafe extern "C" {
    pub static mut dispatch_graph: dispatchvec;
    pub static mut dispatch_sparse: dispatchvec;
    /// Not zero: every search of the process ends soon, with the error status `NAUKILLED`.
    pub static mut nauty_kill_request: c_int;

    pub fn adjacencies(
        g: *mut graph, lab: *mut c_int, ptn: *mut c_int, level: c_int, numcells: c_int, tvpos: c_int,
        invar: *mut c_int, invararg: c_int, digraph: boolean, m: c_int, n: c_int,
    );
    pub fn adjacencies_sg(
        g: *mut graph, lab: *mut c_int, ptn: *mut c_int, level: c_int, numcells: c_int, tvpos: c_int,
        invar: *mut c_int, invararg: c_int, digraph: boolean, m: c_int, n: c_int,
    );
    pub fn sparsenauty(
        g: *mut sparsegraph, lab: *mut c_int, ptn: *mut c_int, orbits: *mut c_int, options: *mut optionblk,
        stats: *mut statsblk, canon: *mut sparsegraph,
    );
    pub fn Traces(
        g: *mut sparsegraph, lab: *mut c_int, ptn: *mut c_int, orbits: *mut c_int, options: *mut TracesOptions,
        stats: *mut TracesStats, canon: *mut sparsegraph,
    );
}
