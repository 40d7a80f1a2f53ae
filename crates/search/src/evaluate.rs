//! Judging many states at once.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

/// An opinion on many states at once.
pub trait Evaluate: Send {
    /// Appends what each role may expect at the end of the match, as a part of 100 points: from 0 to 1. For each state one number
    /// for each role, those of one state after those of another. The match goes on in these states.
    fn values(&mut self, states: &[&[u64]], values: &mut Vec<f32>);
}

/// Several copies of one opinion, each in a thread of its own but for the first. What they say does not depend on how many there are.
pub struct Several {
    first: Box<dyn Evaluate>,
    others: Vec<Worker>,
}

/// A thread with a copy.
struct Worker {
    /// States, one after another, and how many words each has.
    asked: Sender<(Vec<u64>, usize)>,
    said: Receiver<Vec<f32>>,
}

impl Several {
    /// An opinion and its copies; the opinion itself if there are none.
    pub fn of(first: Box<dyn Evaluate>, copies: impl IntoIterator<Item = Box<dyn Evaluate>>) -> Box<dyn Evaluate> {
        let others: Vec<Worker> = copies.into_iter().filter_map(Worker::new).collect();
        if others.is_empty() { first } else { Box::new(Several { first, others }) }
    }
}

impl Evaluate for Several {
    fn values(&mut self, states: &[&[u64]], values: &mut Vec<f32>) {
        /// It takes about as long to tell a thread as to judge so many states.
        const LEAST: usize = 32;
        let n_words = states.first().map_or(0, |state| state.len());
        let n_parts = if n_words == 0 { 1 } else { (states.len() / LEAST).clamp(1, self.others.len() + 1) };
        let (own, rest) = states.split_at(states.len().div_ceil(n_parts));
        let mut n_asked = 0;
        for (part, worker) in rest.chunks(own.len().max(1)).zip(&self.others) {
            // A thread ends only when nobody can ask it, so this can't fail.
            _ = worker.asked.send((part.concat(), n_words));
            n_asked += 1;
        }
        self.first.values(own, values);
        for worker in &self.others[..n_asked] {
            values.extend(wait(&worker.said).expect("a copy does not panic"));
        }
    }
}

impl Worker {
    /// Nothing if no thread can be started.
    fn new(mut copy: Box<dyn Evaluate>) -> Option<Worker> {
        let (asked, questions) = channel::<(Vec<u64>, usize)>();
        let (answer, said) = channel();
        let work = move || {
            while let Some((words, n_words)) = wait(&questions) {
                let states: Vec<&[u64]> = words.chunks(n_words).collect();
                let mut values = Vec::new();
                copy.values(&states, &mut values);
                if answer.send(values).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("judge".to_owned()).spawn(work).ok()?;
        Some(Worker { asked, said })
    }
}

/// What comes next; nothing if nothing will. In a search that is soon, and to sleep and be woken would take longer.
fn wait<T>(receiver: &Receiver<T>) -> Option<T> {
    const TRIES: usize = 20_000;
    for _ in 0..TRIES {
        match receiver.try_recv() {
            Ok(next) => return Some(next),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
        }
    }
    receiver.recv().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says what a state's first word is.
    struct Echo;

    impl Evaluate for Echo {
        fn values(&mut self, states: &[&[u64]], values: &mut Vec<f32>) {
            values.extend(states.iter().flat_map(|state| [state[0] as f32, -(state[1] as f32)]));
        }
    }

    #[test]
    fn several_say_what_one_says() {
        let copies = || (0..3).map(|_| Box::new(Echo) as Box<dyn Evaluate>);
        let mut several = Several::of(Box::new(Echo), copies());
        for n in [0, 1, 31, 63, 64, 65, 127, 128, 512, 1_000] {
            let states: Vec<[u64; 2]> = (0..n).map(|number| [number, 2 * number]).collect();
            let states: Vec<&[u64]> = states.iter().map(|state| &state[..]).collect();
            let (mut one, mut other) = (vec![7.0], vec![7.0]);
            Echo.values(&states, &mut one);
            several.values(&states, &mut other);
            assert_eq!(one, other, "{n} states");
        }
    }
}
