//! The subcommands.

mod analyze;
mod bench;
mod check;
mod contest;
mod contestant;
mod explain;
mod features;
mod games;
mod host;
mod ladder;
mod learn;
mod learned;
mod measure;
mod memory;
mod models;
mod perft;
mod play;
mod player;
mod ratings;
mod recognize;
mod scramble;
mod show;
mod soak;
mod solve;
mod trace;
mod try_out;
mod watch;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    Try(try_out::Try),
    Games(games::Games),
    Show(show::Show),
    Check(check::Check),
    Analyze(analyze::Analyze),
    Features(features::Features),
    Learn(learn::Learn),
    Measure(measure::Measure),
    Explain(learned::Explain),
    Models(models::Models),
    Ladder(ladder::Ladder),
    Play(play::Play),
    Match(contest::Match),
    Tournament(contest::Tournament),
    Ratings(ratings::Ratings),
    Player(player::Player),
    Host(host::Host),
    Soak(soak::Soak),
    #[command(hide = true)]
    Contestant(contestant::Contestant),
    Scramble(scramble::Scramble),
    Recognize(recognize::Recognize),
    Memory(memory::Memory),
    Watch(watch::Watch),
    Trace(trace::Trace),
    Solve(solve::Solve),
    Perft(perft::Perft),
    Bench(bench::Bench),
}

pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Try(arguments) => try_out::run(arguments),
        Command::Games(arguments) => games::run(arguments),
        Command::Show(arguments) => show::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Analyze(arguments) => analyze::run(arguments),
        Command::Features(arguments) => features::run(arguments),
        Command::Learn(arguments) => learn::run(arguments),
        Command::Measure(arguments) => measure::run(arguments),
        Command::Explain(arguments) => learned::run(arguments),
        Command::Models(arguments) => models::run(arguments),
        Command::Ladder(arguments) => ladder::run(arguments),
        Command::Play(arguments) => play::run(arguments),
        Command::Match(arguments) => contest::run_match(arguments),
        Command::Tournament(arguments) => contest::run_tournament(arguments),
        Command::Ratings(arguments) => ratings::run(arguments),
        Command::Player(arguments) => player::run(arguments),
        Command::Host(arguments) => host::run(arguments),
        Command::Soak(arguments) => soak::run(arguments),
        Command::Contestant(arguments) => contestant::run(arguments),
        Command::Scramble(arguments) => scramble::run(arguments),
        Command::Recognize(arguments) => recognize::run(arguments),
        Command::Memory(arguments) => memory::run(arguments),
        Command::Watch(arguments) => watch::run(arguments),
        Command::Trace(arguments) => trace::run(arguments),
        Command::Solve(arguments) => solve::run(arguments),
        Command::Perft(arguments) => perft::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
    }
}
