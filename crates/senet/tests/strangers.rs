//! The player as a program among strangers: hostile rules, matches given up, crowds, a log that nobody reads, processes that die.

#[path = "hostile/texts.rs"]
mod texts;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use arena::hostile::{OVER, Stranger, Usage, Watch};
use arena::protocol::http::{Address, exchange};

/// A busy machine may hold a process up; the point is minutes, gigabytes and what never ends.
const PATIENCE: Duration = Duration::from_secs(10);

struct Player {
    process: Child,
    address: SocketAddr,
    /// What it says; nobody reads on.
    log: Option<BufReader<ChildStderr>>,
    folder: PathBuf,
}

impl Player {
    fn new(name: &str, arguments: &[&str]) -> Player {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("strangers-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is room");
        let mut process = Command::new(env!("CARGO_BIN_EXE_senet"))
            .args(["player", "--port", "0"])
            .args(arguments)
            .env("SENET_STORE", folder.join("memory.db"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut log = BufReader::new(process.stderr.take().expect("a pipe"));
        let mut line = String::new();
        log.read_line(&mut line).expect("it says where it is");
        let address = line.split_whitespace().find_map(|word| word.strip_prefix("http://"));
        let address = address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("no address: {line}"));
        Player { process, address, log: Some(log), folder }
    }

    fn say(&self, message: &str) -> String {
        let address = Address::find(&self.address.to_string()).expect("it is one");
        let reply = exchange(&address, "x", message, Instant::now() + Duration::from_secs(60));
        reply.unwrap_or_else(|problem| panic!("{message:.60}: {problem}"))
    }

    fn start(&self, id: &str, start: f64, play: f64) -> String {
        let text = std::fs::read_to_string("../../games/tic-tac-toe/rules.kif").expect("a game of the library");
        let rules = arena::Rules::read("tic-tac-toe", &text).one_line();
        self.say(&format!("(START {id} xplayer ({rules}) {start} {play})"))
    }

    /// Waits until it has no process but itself, and no more threads than before.
    fn settles(&self, before: Usage) {
        let until = Instant::now() + PATIENCE;
        loop {
            let now = Usage::of(self.process.id()).expect("the system tells");
            if now.processes == 1 && now.threads <= before.threads {
                return;
            }
            assert!(Instant::now() < until, "left behind: {now:?}, there was {before:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The process in which it thinks.
    fn child(&self) -> Option<u32> {
        let path = format!("/proc/{}/task", self.process.id());
        let tasks = std::fs::read_dir(path).ok()?.flatten();
        let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        children.collect::<String>().split_whitespace().find_map(|child| child.parse().ok())
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn is_alive(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

/// Each family of hostile rules meets the player in one way or another; `senet soak --hostile` goes on for longer.
#[test]
fn hostile_rules_do_no_harm() {
    let player = Player::new("rules", &[]);
    let before = Usage::of(player.process.id()).expect("the system tells");
    let watch = Watch::new(player.process.id());
    let mut stranger = Stranger::new(player.address);
    stranger.patience = OVER + PATIENCE;
    for (index, (name, make)) in texts::FAMILIES.iter().enumerate() {
        let text = make([3, 60, 1200][index % 3], 1);
        match index / 3 % 3 {
            0 => stranger.play(name, &text, Duration::from_millis(700)),
            1 => stranger.give_up(name, &text, Duration::from_millis(150)),
            _ => stranger.preview(name, &text, Duration::from_millis(700)),
        }
    }
    assert_eq!(stranger.complaints, Vec::<String>::new());
    assert!(watch.most() < 4 << 30, "{} MiB", watch.most() >> 20);
    player.settles(before);
}

/// Matches that are given up leave nothing behind, and a crowd of large previews takes little.
#[test]
fn a_crowd_and_matches_given_up_leave_nothing_behind() {
    let player = Player::new("crowd", &[]);
    let before = Usage::of(player.process.id()).expect("the system tells");
    let watch = Watch::new(player.process.id());
    let mut stranger = Stranger::new(player.address);
    stranger.patience = OVER + PATIENCE;
    let (_, make) = texts::FAMILIES.iter().find(|(name, _)| *name == "closure").expect("it is there");
    let text = make(300, 1);
    (0..6).for_each(|_| stranger.give_up("closure", &text, Duration::from_millis(100)));
    stranger.crowd(45, 3_900_000, Duration::from_secs(2));
    assert_eq!(stranger.complaints, Vec::<String>::new());
    assert!(watch.most() < 3 << 30, "{} MiB", watch.most() >> 20);
    player.settles(before);
}

/// Whether its log is closed or full, it plays.
#[test]
fn a_log_that_nobody_reads_stops_nobody() {
    for is_closed in [true, false] {
        let mut player = Player::new(&format!("log-{is_closed}"), &["--player", "random"]);
        if is_closed {
            player.log = None;
        } else {
            // More than a pipe holds, and more than waits in a queue.
            for _ in 0..2_500 {
                player.say("(ABORT a.match.that.nobody.has.ever.heard.of.and.nobody.will)");
            }
        }
        for id in ["a", "b"] {
            assert_eq!(player.start(id, 2.0, 2.0), "ready", "closed: {is_closed}");
            assert!(player.say(&format!("(PLAY {id} NIL)")).starts_with("(mark"), "closed: {is_closed}");
            assert_eq!(player.say(&format!("(STOP {id} NIL)")), "done", "closed: {is_closed}");
        }
    }
}

/// A process that dies in a match is followed by another one; and none outlives its player.
#[test]
fn a_process_that_dies_is_replaced_and_none_is_left() {
    let mut player = Player::new("death", &["--player", "uct"]);
    assert_eq!(player.start("m", 2.0, 5.0), "ready");
    let child = player.child().expect("it thinks somewhere");
    assert!(Command::new("kill").args(["-9", &child.to_string()]).status().expect("kill is there").success());
    let first = player.say("(PLAY m NIL)");
    assert!(first.starts_with("(mark"), "{first}");
    let child = player.child().expect("another one thinks");
    assert_eq!(player.say(&format!("(PLAY m ({first} noop))")), "noop");
    assert!(player.say("(PLAY m (noop (mark 9 9)))").len() > 2, "whatever it is told");
    assert!(is_alive(child));
    player.process.kill().expect("it is ours");
    player.process.wait().expect("it ends");
    let until = Instant::now() + PATIENCE;
    while is_alive(child) {
        assert!(Instant::now() < until, "it outlives its player");
        std::thread::sleep(Duration::from_millis(10));
    }
}
