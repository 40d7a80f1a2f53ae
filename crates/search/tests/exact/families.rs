//! The kinds of games.

use super::generate::{Maker, Payment};

/// Positions and a table that says where joint moves lead; perhaps another table from some step on.
pub(super) fn table(maker: &mut Maker) {
    // A state may take more than one word.
    let is_long = maker.chance(8);
    let n_positions = if is_long { 3 + maker.below(3) } else { 3 + maker.below(12) };
    let (simultaneous, back, odd) = (maker.chance(25), maker.below(3) * 20, maker.chance(15));
    let payment = maker.payment();
    let n_phases = if maker.chance(25) { 2 } else { 1 };
    let n_steps = match () {
        _ if is_long => Some(60 + maker.below(20)),
        _ if n_phases > 1 || maker.chance(40) => Some(3 + maker.below(14)),
        _ => None,
    };
    maker.roles();
    maker.line("(init (at p0))");
    maker.line("(<= (legal ?r ?m) (true (at ?p)) (can ?p ?r ?m))");
    let does = maker.does();
    let arguments: String = (0..maker.n_roles).map(|role| format!("?m{role} ")).collect();
    let phase = if n_phases > 1 { "(true (step ?n)) (phase ?n ?f) " } else { "(phase ?f) " };
    maker.line(format!("(<= (next (at ?q)) (true (at ?p)) {phase}{does}(to ?f ?p {arguments}?q))"));
    maker.line("(<= terminal (true (at ?p)) (end ?p))");
    match n_steps {
        Some(n) => {
            maker.counter(n);
            let (first, second) = (maker.below(n), maker.below(n));
            for step in (0..n).filter(|_| n_phases > 1) {
                let phase = usize::from(step >= first.min(second) && step < first.max(second));
                maker.line(format!("(phase {step} f{phase})"));
            }
        }
        None => maker.line("(nothing)"),
    }
    if n_phases == 1 {
        maker.line("(phase f0)");
    }
    for position in 0..n_positions {
        let last = position + 1 == n_positions;
        let is_end = last || position > 0 && maker.chance(20);
        if is_end {
            maker.line(format!("(end p{position})"));
        }
        // Where a counter ends the match, it may end anywhere.
        if is_end || !odd {
            let goals = maker.goals(payment, odd);
            maker.pay(&goals, &format!("(true (at p{position}))"));
        }
        if is_end {
            continue;
        }
        let chooser = maker.below(maker.n_roles);
        let mut joints = vec![String::new()];
        let stuck = if odd && maker.chance(8) { maker.below(maker.n_roles) } else { usize::MAX };
        for role in 0..maker.n_roles {
            let n_moves = match () {
                _ if role == stuck => 0,
                _ if simultaneous => 1 + maker.below(3),
                _ if role == chooser => 2 + maker.below(2),
                _ => 1,
            };
            let names: Vec<String> = (0..n_moves).map(|number| format!("m{number}")).collect();
            names.iter().for_each(|name| maker.line(format!("(can p{position} r{role} {name})")));
            joints = joints.iter().flat_map(|joint| names.iter().map(move |name| format!("{joint}{name} "))).collect();
        }
        for joint in joints {
            for phase in 0..n_phases {
                let to = if maker.chance(back) {
                    maker.below(n_positions)
                } else {
                    position + 1 + maker.below((n_positions - position - 1).min(4))
                };
                maker.line(format!("(to f{phase} p{position} {joint}p{to})"));
            }
        }
    }
}

/// A few fluents that depend on each other and on the moves in any way; several hold at once.
pub(super) fn circuit(maker: &mut Maker) {
    let n_fluents = 3 + maker.below(4);
    let n_moves = 2 + maker.below(2);
    let (in_turn, odd) = (maker.chance(65), maker.chance(15));
    let payment = maker.payment();
    maker.roles();
    for fluent in 0..n_fluents {
        maker.line(format!("(fluent f{fluent})"));
        if maker.chance(40) {
            maker.line(format!("(init f{fluent})"));
        }
    }
    let literal = |maker: &mut Maker| {
        let fluent = maker.below(n_fluents);
        if maker.chance(50) { format!("(true f{fluent}) ") } else { format!("(not (true f{fluent})) ") }
    };
    let role_moves = |maker: &mut Maker| {
        let (role, chosen) = (maker.below(maker.n_roles), maker.below(n_moves));
        if maker.chance(70) { format!("(does r{role} m{chosen}) ") } else { format!("(not (does r{role} m{chosen})) ") }
    };
    if in_turn {
        maker.turns();
    }
    for role in 0..maker.n_roles {
        let control = if in_turn { format!("(true (control r{role})) ") } else { String::new() };
        for chosen in 0..n_moves {
            let condition = if chosen > 0 && maker.chance(40) { literal(maker) } else { String::new() };
            maker.line(format!("(<= (legal r{role} m{chosen}) (role r{role}) {control}{condition})"));
        }
    }
    for fluent in 0..n_fluents {
        for _ in 0..1 + maker.below(3) {
            let mut body = role_moves(maker);
            (0..maker.below(3)).for_each(|_| body += &literal(maker));
            if maker.chance(30) {
                body = literal(maker) + &literal(maker);
            }
            maker.line(format!("(<= (next f{fluent}) {body})"));
        }
        if maker.chance(50) {
            let unless = literal(maker);
            maker.line(format!("(<= (next f{fluent}) (true f{fluent}) {unless})"));
        }
    }
    let end = literal(maker) + &literal(maker) + &literal(maker);
    maker.line(format!("(<= terminal {end})"));
    if maker.chance(60) {
        let n = 2 + maker.below(9);
        maker.counter(n);
    }
    let (one, other) = (maker.below(n_fluents), maker.below(n_fluents));
    for condition in [
        format!("(true f{one}) (true f{other})"),
        format!("(true f{one}) (not (true f{other}))"),
        format!("(not (true f{one})) (true f{other})"),
        format!("(not (true f{one})) (not (true f{other}))"),
    ] {
        let goals = maker.goals(payment, odd);
        maker.pay(&goals, &condition);
    }
}

/// Cells that remember for some steps when they were pressed; when all are lit a round is over. A cell may hold several ages at once.
pub(super) fn lights(maker: &mut Maker) {
    maker.n_roles = 1 + usize::from(maker.chance(20));
    let n_cells = if maker.n_roles == 1 { 2 + maker.below(3) } else { 2 };
    let memory = n_cells - 1 + maker.below(2);
    let n_rounds = 1 + maker.below(3);
    let (dark, keeps, early) = (maker.chance(50), maker.chance(50), maker.chance(50));
    maker.roles();
    for cell in 0..n_cells {
        maker.line(format!("(cell c{cell})"));
        if dark {
            maker.line(format!("(init (lit c{cell} 0))"));
        }
    }
    (usize::from(!dark)..memory).for_each(|age| maker.line(format!("(older {} {age})", age + 1)));
    (0..n_rounds).for_each(|round| maker.line(format!("(round {round} {})", round + 1)));
    maker.line("(init (rounds 0))");
    maker.line("(<= (legal ?r (press ?c)) (role ?r) (cell ?c))");
    maker.line(format!("(<= (next (lit ?c {memory})) (does ?r (press ?c)))"));
    let unless = if keeps { "" } else { " (not all)" };
    maker.line(format!("(<= (next (lit ?c ?m)) (true (lit ?c ?n)) (older ?n ?m){unless})"));
    if dark {
        maker.line("(<= (next (lit ?c 0)) (true (lit ?c 0)))");
    }
    maker.line("(<= (on ?c) (true (lit ?c ?n)) (distinct ?n 0))");
    let all: String = (0..n_cells).map(|cell| format!(" (on c{cell})")).collect();
    maker.line(format!("(<= all{all})"));
    maker.line("(<= (next (rounds ?m)) (true (rounds ?n)) (round ?n ?m) all)");
    maker.line("(<= (next (rounds ?n)) (true (rounds ?n)) (not all))");
    maker.line(format!("(<= (next (rounds {n_rounds})) (true (rounds {n_rounds})))"));
    if early {
        maker.line(format!("(<= terminal (true (rounds {n_rounds})))"));
    }
    if !early || maker.chance(70) {
        let n = (n_cells + 1) * n_rounds - maker.below(3) + if maker.chance(50) { 6 } else { 0 };
        maker.counter(n);
    }
    let gets = if maker.chance(80) { 100 } else { 80 };
    maker.line(format!("(<= (goal r0 {gets}) (true (rounds {n_rounds})))"));
    // A cell that is lit again is still dark, too.
    let lost = match dark && maker.chance(30) {
        true => "(true (lit ?c 0))".to_owned(),
        false => format!("(not (true (rounds {n_rounds})))"),
    };
    maker.line(format!("(<= (goal r0 0) {lost})"));
    if maker.n_roles == 2 {
        maker.line(format!("(<= (goal r1 {}) (true (rounds {n_rounds})))", 100 - gets));
        maker.line(format!("(<= (goal r1 100) (not (true (rounds {n_rounds}))))"));
    }
}

/// Cells in a circle that are marked in turn; lines that look alike all around.
pub(super) fn marks(maker: &mut Maker) {
    maker.n_roles = 2 + usize::from(maker.chance(25));
    let n_cells = 4 + maker.below(3);
    maker.roles();
    maker.turns();
    (0..n_cells).for_each(|cell| maker.line(format!("(cell c{cell}) (init (blank c{cell}))")));
    maker.line("(<= (legal ?r (mark ?c)) (true (control ?r)) (true (blank ?c)))");
    maker.line("(<= (next (has ?c ?r)) (does ?r (mark ?c)))");
    maker.line("(<= (next (has ?c ?r)) (true (has ?c ?r)))");
    maker.line("(<= (marked ?c) (does ?r (mark ?c)))");
    maker.line("(<= (next (blank ?c)) (true (blank ?c)) (not (marked ?c)))");
    let steps: Vec<usize> = (0..1 + maker.below(2)).map(|_| 1 + maker.below(n_cells - 1)).collect();
    for cell in 0..n_cells {
        let mut at = cell;
        let mut line = format!("(<= (line ?r) (role ?r) (true (has c{cell} ?r))");
        for step in &steps {
            at = (at + step) % n_cells;
            line += &format!(" (true (has c{at} ?r))");
        }
        maker.line(line + ")");
    }
    maker.line("(<= open (true (blank ?c)))");
    maker.line("(<= won (line ?r))");
    maker.line("(<= terminal won)");
    maker.line("(<= terminal (not open))");
    let (win, lose) = if maker.chance(70) { (100, 0) } else { (0, 100) };
    maker.line(format!("(<= (goal ?r {win}) (line ?r))"));
    maker.line("(<= (other ?r) (role ?r) (line ?s) (distinct ?r ?s))");
    maker.line(format!("(<= (goal ?r {lose}) (other ?r) (not (line ?r)))"));
    maker.line("(<= (goal ?r 50) (role ?r) (not won))");
}

/// Heaps that are alike; who takes the last piece has won, or lost. Where a piece may be put back, matches may go on for ever.
pub(super) fn heaps(maker: &mut Maker) {
    let (n_heaps, size) = (1 + maker.below(3), 2 + maker.below(3));
    let (most, back, n_steps) = (1 + maker.below(2), maker.chance(30), maker.chance(30));
    maker.roles();
    maker.turns();
    for heap in 0..n_heaps {
        maker.line(format!("(init (heap h{heap} {size}))"));
        for left in 0..size {
            for taken in 1..=most.min(size - left) {
                maker.line(format!("(less h{heap} {} {taken} {left})", left + taken));
            }
            if back {
                maker.line(format!("(less h{heap} {left} back {})", left + 1));
            }
        }
    }
    let back = if back { " (true (heap ?h ?n)) (distinct ?n 0)" } else { "" };
    maker
        .line(format!("(<= (legal ?r (take ?h ?k)) (true (control ?r)) (true (heap ?h ?n)) (less ?h ?n ?k ?m){back})"));
    maker.line("(<= (next (heap ?h ?m)) (does ?r (take ?h ?k)) (true (heap ?h ?n)) (less ?h ?n ?k ?m))");
    maker.line("(<= (touched ?h) (does ?r (take ?h ?k)))");
    maker.line("(<= (next (heap ?h ?n)) (true (heap ?h ?n)) (not (touched ?h)))");
    maker.line("(<= left (true (heap ?h ?n)) (distinct ?n 0))");
    maker.line("(<= terminal (not left))");
    if n_steps {
        let n = 3 + maker.below(8);
        maker.counter(n);
    }
    let payment = maker.payment();
    for role in 0..maker.n_roles {
        let goals = maker.goals(payment, false);
        maker.pay(&goals, &format!("(true (control r{role}))"));
    }
}

/// Tokens on a graph, one for each role, moved in turn or at once, there and back again; who is caught or comes home ends the match.
pub(super) fn chase(maker: &mut Maker) {
    let n_places = 3 + maker.below(4);
    let in_turn = maker.n_roles == 1 || maker.chance(75);
    let stays = maker.chance(30);
    maker.roles();
    if in_turn {
        maker.turns();
    }
    for place in 0..n_places {
        let next = (place + 1) % n_places;
        maker.line(format!("(way p{place} p{next})"));
        if maker.chance(60) {
            maker.line(format!("(way p{next} p{place})"));
        }
        if maker.chance(25) {
            let other = maker.below(n_places);
            maker.line(format!("(way p{place} p{other})"));
        }
        if stays {
            maker.line(format!("(way p{place} p{place})"));
        }
    }
    (0..maker.n_roles).for_each(|role| {
        let place = maker.below(n_places);
        maker.line(format!("(init (at r{role} p{place}))"));
    });
    let control = if in_turn { "(true (control ?r)) " } else { "" };
    maker.line(format!("(<= (legal ?r (go ?q)) {control}(true (at ?r ?p)) (way ?p ?q))"));
    maker.line("(<= (next (at ?r ?q)) (does ?r (go ?q)))");
    if in_turn {
        maker.line("(<= (next (at ?r ?p)) (true (at ?r ?p)) (not (true (control ?r))))");
    }
    let home = maker.below(n_places);
    maker.line(format!("(<= home (true (at r0 p{home})))"));
    maker.line("(<= terminal home)");
    maker.line("(<= caught (true (at r0 ?p)) (true (at ?r ?p)) (distinct ?r r0))");
    if maker.chance(80) {
        maker.line("(<= terminal caught)");
    }
    if maker.chance(30) {
        let n = 4 + maker.below(12);
        maker.counter(n);
    }
    let payment = if maker.chance(60) { Payment::Opposed(&[0, 100]) } else { maker.payment() };
    for condition in ["home", "(not home) caught", "(not home) (not caught)"] {
        let goals = maker.goals(payment, false);
        maker.pay(&goals, condition);
    }
}
