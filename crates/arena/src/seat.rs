//! A contestant in a thread of its own.
//!
//! Whoever asks waits as long as it wants to, and no longer. A contestant that is late gets every question in turn all the same, so
//! that it sees every joint move; its answers to old questions are dropped. One that panics is replaced when a match begins,
//! and one that does not come back is left behind.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use crate::contestant::{Clocks, Contestant, Decision, Factory, Rules};

/// How long a match that begins waits for a contestant that has not come to an end with the last one.
const PATIENCE: Duration = Duration::from_millis(200);

/// What a contestant is asked for.
pub(crate) enum Order {
    Preview { rules: Rules, deadline: Instant },
    Start { rules: Rules, role: usize, clocks: Clocks, deadline: Instant },
    Play { last: Option<Vec<String>>, deadline: Instant },
    Stop { last: Option<Vec<String>> },
}

/// What came back, and when. Orders to prepare, start and stop are answered with an empty decision.
pub(crate) struct Answer {
    number: u64,
    pub(crate) at: Instant,
    pub(crate) said: Result<Decision, String>,
}

/// A place at the table, with a contestant in it.
pub struct Seat {
    factory: Factory,
    worker: Worker,
    threads: Arc<()>,
}

struct Worker {
    given_up: Arc<AtomicBool>,
    orders: Sender<(u64, Order)>,
    answers: Receiver<Answer>,
    n_orders: u64,
    n_answers: u64,
}

impl Seat {
    /// A seat for a contestant that the factory makes.
    pub fn new(factory: Factory) -> Seat {
        Seat::among(factory, &Arc::default())
    }

    /// The same; `threads` is held by every thread of such seats, so that they can be counted.
    pub(crate) fn among(factory: Factory, threads: &Arc<()>) -> Seat {
        let worker = Worker::new(factory.clone(), threads.clone());
        Seat { factory, worker, threads: threads.clone() }
    }

    /// Tells the contestant that nobody waits any more.
    pub(crate) fn give_up(&mut self) {
        self.worker.given_up.store(true, Ordering::SeqCst);
    }

    /// Gives an order; the number it gets is asked for in [`Seat::wait`].
    pub(crate) fn order(&mut self, order: Order) -> u64 {
        if let Order::Start { deadline, .. } = &order
            && !self.is_idle()
        {
            // It may be about to end an old match.
            let left = deadline.saturating_duration_since(Instant::now());
            self.wait(self.worker.n_orders, Instant::now() + (left / 4).min(PATIENCE));
            if !self.is_idle() {
                // It ends by itself when nobody gives it orders.
                self.worker = Worker::new(self.factory.clone(), self.threads.clone());
            }
        }
        self.worker.n_orders += 1;
        let number = self.worker.n_orders;
        // The worker hears orders as long as it has a seat, so this can't fail.
        let _ = self.worker.orders.send((number, order));
        number
    }

    /// Waits for the answer to an order.
    pub(crate) fn wait(&mut self, number: u64, until: Instant) -> Option<Answer> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let answer = self.worker.answers.recv_timeout(left).ok()?;
            self.worker.n_answers = answer.number;
            if answer.number == number {
                return Some(answer);
            }
        }
    }

    /// Whether it has answered all orders.
    pub(crate) fn is_idle(&mut self) -> bool {
        while let Ok(answer) = self.worker.answers.try_recv() {
            self.worker.n_answers = answer.number;
        }
        self.worker.n_answers == self.worker.n_orders
    }
}

impl Worker {
    fn new(factory: Factory, threads: Arc<()>) -> Worker {
        let (orders, receive) = channel();
        let (send, answers) = channel();
        let given_up = Arc::new(AtomicBool::new(false));
        let flag = given_up.clone();
        std::thread::spawn(move || {
            work(&factory, &receive, &send, &flag);
            drop(threads);
        });
        Worker { given_up, orders, answers, n_orders: 0, n_answers: 0 }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::SeqCst);
    }
}

fn work(factory: &Factory, orders: &Receiver<(u64, Order)>, answers: &Sender<Answer>, given_up: &Arc<AtomicBool>) {
    let mut contestant: Option<Box<dyn Contestant>> = None;
    while let Ok((number, order)) = orders.recv() {
        if matches!(order, Order::Stop { .. }) {
            // What was given up has come to its end.
            given_up.store(false, Ordering::SeqCst);
        }
        let obeyed = catch_unwind(AssertUnwindSafe(|| obey(&mut contestant, factory, order, given_up)));
        let said = obeyed.unwrap_or_else(|payload| {
            // What it left behind may be in disorder; dropping that could panic, too.
            let _ = catch_unwind(AssertUnwindSafe(|| contestant = None));
            Err(format!("it panicked: {}", what_was_said(&*payload)))
        });
        if answers.send(Answer { number, at: Instant::now(), said }).is_err() {
            return;
        }
    }
}

fn obey<'a>(
    contestant: &'a mut Option<Box<dyn Contestant>>,
    factory: &Factory,
    order: Order,
    given_up: &Arc<AtomicBool>,
) -> Result<Decision, String> {
    let some = |contestant: &'a mut Option<Box<dyn Contestant>>| {
        contestant.get_or_insert_with(|| {
            let mut made = factory();
            made.heed(given_up.clone());
            made
        })
    };
    match order {
        Order::Preview { rules, deadline } => {
            some(contestant).preview(&rules, deadline);
            Ok(Decision::default())
        }
        Order::Start { rules, role, clocks, deadline } => {
            some(contestant).start(&rules, role, clocks, deadline).map(|()| Decision::default())
        }
        Order::Play { last, deadline } => {
            contestant.as_mut().ok_or("no match has begun")?.play(last.as_deref(), deadline)
        }
        Order::Stop { last } => {
            if let Some(contestant) = contestant {
                contestant.stop(last.as_deref());
            }
            Ok(Decision::default())
        }
    }
}

/// What a panic said.
pub(crate) fn what_was_said(payload: &(dyn Any + Send)) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a word")
}
