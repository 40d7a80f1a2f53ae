//! Positions to learn from as a stream of bytes: dense, read back a block at a time, and of use up to where it was cut off.
//!
//! Numbers are little-endian; those marked *v* take seven bits a byte, the lowest first, as many as needed.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `SENETREC` |
//! | 4 | version |
//! | 4, 4 | words of a state, roles |
//! | 8 | fingerprint of the game ([`features::positions::fingerprint`]) |
//! | … | blocks: 4 bytes length, 8 bytes hash, records |
//! | 12 | at the end, a block without records; version 1 has none |
//!
//! A record tells what differs from the one before it in its block, and the first from one of zeros: one byte of flags (1: the role
//! to move follows, 2: what is expected follows, 4: the state stands there as it is), v match (zigzag of the difference), v step
//! (likewise), one byte with one more than the role to move or 0, for each role v one more than ten thousand times what is
//! expected or 0, and the state: v number of bits that differ, and v the distance of each from the one before it.

use std::fmt;
use std::io::{self, Read, Write};

const MAGIC: &[u8; 8] = b"SENETREC";
const HEADER: usize = 28;
const BLOCK_HEADER: usize = 12;
/// The version of the format.
pub const VERSION: u32 = 2;
/// The last version that did not mark the end, so that a file cut off behind a block looked whole.
const WITHOUT_END: u32 = 1;
/// A block is written when it has so many bytes.
const BLOCK: usize = 1 << 15;
/// No block is longer, and no state has more words.
const MAX_BLOCK: usize = 1 << 24;
const MAX_WORDS: usize = 1 << 16;
const MAX_ROLES: usize = 255;
/// What is expected is kept in steps of this; results in per cent are exact.
const SCALE: f32 = 10_000.0;

const MOVER: u8 = 1;
const TARGETS: u8 = 2;
const WHOLE: u8 = 4;

/// A position to learn from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// The state, one bit for each fluent of the game's own network.
    pub state: Vec<u64>,
    /// The one role that has a choice.
    pub mover: Option<u8>,
    /// What each role may expect, from 0 to 1; `None` where that is not known.
    pub targets: Vec<Option<f32>>,
    /// The match.
    pub number: u32,
    /// How many joint moves were made before it.
    pub step: u32,
}

/// Why there are no more records.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// The bytes don't begin as records do.
    NotRecords,
    /// They are of a version that is not known here.
    Version(u32),
    /// A block in their midst is not what was written.
    Damaged,
    /// They can't be read or written.
    Io(io::Error),
}

impl fmt::Display for RecordError {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            RecordError::NotRecords => write!(out, "these are no recorded positions"),
            RecordError::Version(version) => write!(out, "records of version {version}; this program knows {VERSION}"),
            RecordError::Damaged => write!(out, "recorded positions are damaged"),
            RecordError::Io(why) => write!(out, "{why}"),
        }
    }
}

impl std::error::Error for RecordError {}

impl From<io::Error> for RecordError {
    fn from(why: io::Error) -> RecordError {
        RecordError::Io(why)
    }
}

/// Of which game records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// What the game's fluents hash to.
    pub fingerprint: u64,
    /// Words of a state.
    pub n_words: usize,
    /// Roles.
    pub n_roles: usize,
}

/// Writes records. What was not flushed is lost with it.
pub struct Recorder<W> {
    to: W,
    kind: Kind,
    last: Record,
    block: Vec<u8>,
}

impl<W: Write> Recorder<W> {
    /// Begins a stream.
    pub fn new(mut to: W, kind: Kind) -> Result<Recorder<W>, RecordError> {
        let mut header = MAGIC.to_vec();
        header.extend(VERSION.to_le_bytes());
        header.extend((kind.n_words as u32).to_le_bytes());
        header.extend((kind.n_roles as u32).to_le_bytes());
        header.extend(kind.fingerprint.to_le_bytes());
        to.write_all(&header)?;
        Ok(Recorder { to, last: nothing(kind), kind, block: Vec::new() })
    }

    /// Adds a record.
    ///
    /// # Panics
    /// If it has not as many words and roles as the stream.
    pub fn push(&mut self, record: &Record) -> Result<(), RecordError> {
        assert_eq!((record.state.len(), record.targets.len()), (self.kind.n_words, self.kind.n_roles), "it fits");
        let (last, block) = (&self.last, &mut self.block);
        let differing: Vec<u64> = record.state.iter().zip(&last.state).map(|(own, other)| own ^ other).collect();
        let n: u32 = differing.iter().map(|word| word.count_ones()).sum();
        let is_whole = n as usize > 4 * self.kind.n_words;
        let flag = |flag: u8, is_set: bool| if is_set { flag } else { 0 };
        let (mover, targets) = (record.mover != last.mover, record.targets != last.targets);
        block.push(flag(MOVER, mover) | flag(TARGETS, targets) | flag(WHOLE, is_whole));
        put(block, zigzag(i64::from(record.number) - i64::from(last.number)));
        put(block, zigzag(i64::from(record.step) - i64::from(last.step)));
        if mover {
            block.push(record.mover.map_or(0, |role| role + 1));
        }
        if targets {
            for target in &record.targets {
                put(block, target.map_or(0, |target| 1 + (SCALE * target.clamp(0.0, 1.0)).round() as u64));
            }
        }
        if is_whole {
            record.state.iter().for_each(|word| block.extend(word.to_le_bytes()));
        } else {
            put(block, u64::from(n));
            let mut before = 0;
            for bit in bits(&differing) {
                put(block, (bit - before) as u64);
                before = bit;
            }
        }
        self.last.clone_from(record);
        if self.block.len() >= BLOCK { self.flush() } else { Ok(()) }
    }

    /// Writes what was added, so that a cut after this does it no harm.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        Ok(self.to.flush()?)
    }

    /// Writes the rest and the end, and gives back what was written to.
    pub fn finish(mut self) -> Result<W, RecordError> {
        self.flush()?;
        self.write_block()?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn write_block(&mut self) -> io::Result<()> {
        self.to.write_all(&(self.block.len() as u32).to_le_bytes())?;
        self.to.write_all(&hash(&self.block).to_le_bytes())?;
        self.to.write_all(&self.block)?;
        self.block.clear();
        self.last = nothing(self.kind);
        Ok(())
    }
}

/// Reads records one after another; no more than a block is in memory. A block that was not written to its end is the end.
pub struct Records<R> {
    from: R,
    /// Of which game they are.
    pub kind: Kind,
    last: Record,
    block: Vec<u8>,
    at: usize,
    is_over: bool,
    /// Whether an end is marked.
    has_end: bool,
    /// Whether the end was cut off.
    pub is_torn: bool,
}

impl<R: Read> Records<R> {
    /// Begins to read.
    pub fn new(mut from: R) -> Result<Records<R>, RecordError> {
        let mut header = [0; HEADER];
        if !fill(&mut from, &mut header)? || !header.starts_with(MAGIC) {
            return Err(RecordError::NotRecords);
        }
        let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let version = number(8);
        if !(WITHOUT_END..=VERSION).contains(&version) {
            return Err(RecordError::Version(version));
        }
        let kind = Kind {
            n_words: number(12) as usize,
            n_roles: number(16) as usize,
            fingerprint: u64::from_le_bytes(header[20..28].try_into().expect("eight bytes")),
        };
        if kind.n_words > MAX_WORDS || kind.n_roles > MAX_ROLES {
            return Err(RecordError::Damaged);
        }
        let (last, has_end) = (nothing(kind), version > WITHOUT_END);
        Ok(Records { from, kind, last, block: Vec::new(), at: 0, is_over: false, has_end, is_torn: false })
    }

    /// Reads the next block; whether there is one.
    fn next_block(&mut self) -> Result<bool, RecordError> {
        let mut header = [0; BLOCK_HEADER];
        let n = fill_some(&mut self.from, &mut header)?;
        if n < BLOCK_HEADER {
            self.is_torn = n > 0 || self.has_end;
            return Ok(false);
        }
        let length = u32::from_le_bytes(header[..4].try_into().expect("four bytes")) as usize;
        let expected = u64::from_le_bytes(header[4..].try_into().expect("eight bytes"));
        if length == 0 && self.has_end && expected == hash(&[]) && fill_some(&mut self.from, &mut [0])? == 0 {
            return Ok(false);
        }
        if length == 0 || length > MAX_BLOCK {
            return Err(RecordError::Damaged);
        }
        // Bytes are taken as they come, so that a wrong length takes no memory.
        self.block.clear();
        let n = (&mut self.from).take(length as u64).read_to_end(&mut self.block)?;
        if n < length || hash(&self.block) != expected {
            // The last block may not have been written to its end, even if the file is long enough.
            self.is_torn = n < length || fill_some(&mut self.from, &mut [0])? == 0;
            return if self.is_torn { Ok(false) } else { Err(RecordError::Damaged) };
        }
        (self.at, self.last) = (0, nothing(self.kind));
        Ok(true)
    }

    /// Reads a record of the block; `None` if the bytes are none.
    fn next_record(&mut self) -> Option<Record> {
        let mut bytes = Bytes { bytes: &self.block, at: self.at };
        let record = &mut self.last;
        let flags = bytes.byte()?;
        record.number = u32::try_from(i64::from(record.number).checked_add(unzigzag(bytes.number()?))?).ok()?;
        record.step = u32::try_from(i64::from(record.step).checked_add(unzigzag(bytes.number()?))?).ok()?;
        if flags & MOVER != 0 {
            record.mover = bytes.byte()?.checked_sub(1);
            if record.mover.is_some_and(|role| usize::from(role) >= self.kind.n_roles) {
                return None;
            }
        }
        if flags & TARGETS != 0 {
            for target in &mut record.targets {
                let number = bytes.number().filter(|&number| number <= 1 + SCALE as u64)?;
                *target = number.checked_sub(1).map(|number| number as f32 / SCALE);
            }
        }
        if flags & WHOLE != 0 {
            for word in &mut record.state {
                *word = bytes.word()?;
            }
        } else {
            let mut bit = 0u64;
            for _ in 0..bytes.number()? {
                bit = bit.checked_add(bytes.number()?)?;
                *record.state.get_mut(usize::try_from(bit / 64).ok()?)? ^= 1 << (bit % 64);
            }
        }
        self.at = bytes.at;
        Some(record.clone())
    }
}

impl<R: Read> Iterator for Records<R> {
    type Item = Result<Record, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.is_over && self.at == self.block.len() {
            match self.next_block() {
                Ok(true) => {}
                Ok(false) => self.is_over = true,
                Err(why) => {
                    self.is_over = true;
                    return Some(Err(why));
                }
            }
        }
        if self.is_over {
            return None;
        }
        let record = self.next_record();
        self.is_over = record.is_none();
        Some(record.ok_or(RecordError::Damaged))
    }
}

fn nothing(kind: Kind) -> Record {
    Record { state: vec![0; kind.n_words], targets: vec![None; kind.n_roles], ..Record::default() }
}

/// The numbers of the bits that are set.
fn bits(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(at, &word)| {
        let next = move |word: &u64| Some(word & (word - 1)).filter(|&rest| rest != 0);
        std::iter::successors(Some(word).filter(|&word| word != 0), next)
            .map(move |word| 64 * at + word.trailing_zeros() as usize)
    })
}

fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

fn put(to: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        to.push(number as u8 | 128);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Bytes that are read from the front.
struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn word(&mut self) -> Option<u64> {
        let bytes = self.bytes.get(self.at..self.at + 8)?;
        self.at += 8;
        Some(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(number);
            }
        }
        None
    }
}

/// Reads as many bytes as there are and as fit; how many.
fn fill_some(from: &mut impl Read, to: &mut [u8]) -> io::Result<usize> {
    let mut n = 0;
    while n < to.len() {
        match from.read(&mut to[n..]) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    Ok(n)
}

fn fill(from: &mut impl Read, to: &mut [u8]) -> io::Result<bool> {
    Ok(fill_some(from, to)? == to.len())
}

/// The 64-bit FNV-1a hash.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_records() -> impl Strategy<Value = (Kind, Vec<Record>)> {
        (1usize..5, 1usize..4, any::<u64>()).prop_flat_map(|(n_words, n_roles, fingerprint)| {
            let word = prop_oneof![Just(0u64), any::<u64>(), Just(1u64 << 63), 0u64..8];
            let target = proptest::option::of((0u32..=100).prop_map(|percent| percent as f32 / 100.0));
            let record = (
                proptest::collection::vec(word, n_words),
                proptest::option::of(0..n_roles as u8),
                proptest::collection::vec(target, n_roles),
                prop_oneof![0u32..4, any::<u32>()],
                prop_oneof![0u32..300, any::<u32>()],
            )
                .prop_map(|(state, mover, targets, number, step)| Record {
                    state,
                    mover,
                    targets,
                    number,
                    step,
                });
            let kind = Kind { fingerprint, n_words, n_roles };
            (Just(kind), proptest::collection::vec(record, 0..40))
        })
    }

    /// The bytes of records, with a flush after each so many.
    fn written(kind: Kind, records: &[Record], every: usize) -> Vec<u8> {
        let mut recorder = Recorder::new(Vec::new(), kind).expect("memory can be written");
        for (number, record) in records.iter().enumerate() {
            recorder.push(record).expect("memory can be written");
            if number % every == every - 1 {
                recorder.flush().expect("memory can be written");
            }
        }
        recorder.finish().expect("memory can be written")
    }

    proptest! {
        #[test]
        fn records_read_back((kind, records) in any_records(), every in 1usize..20) {
            let bytes = written(kind, &records, every);
            let mut reader = Records::new(&bytes[..]).expect("a header");
            prop_assert_eq!(reader.kind, kind);
            let read: Vec<Record> = reader.by_ref().collect::<Result<_, _>>().expect("whole records");
            prop_assert_eq!(read, records);
            prop_assert!(!reader.is_torn);
        }

        /// Wherever a stream is cut, all blocks before the cut are there, and nothing else.
        #[test]
        fn a_cut_costs_one_block((kind, records) in any_records(), every in 1usize..6, cut in any::<prop::sample::Index>()) {
            let bytes = written(kind, &records, every);
            let cut = HEADER + cut.index(bytes.len() - HEADER + 1);
            let mut reader = Records::new(&bytes[..cut]).expect("a header");
            let read: Vec<Record> = reader.by_ref().collect::<Result<_, _>>().expect("a cut is no error");
            prop_assert_eq!(&read[..], &records[..read.len()]);
            let whole = (0..=records.len()).rev()
                .filter(|n| n % every == 0 || *n == records.len())
                .find(|&n| written(kind, &records[..n], every).len() - BLOCK_HEADER <= cut);
            prop_assert_eq!(Some(read.len()), whole);
            prop_assert_eq!(reader.is_torn, cut < bytes.len());
            // An earlier version can't tell that.
            let mut earlier = bytes[..cut].to_vec();
            earlier[8] = 1;
            let end = bytes.len() - BLOCK_HEADER;
            let read = Records::new(&earlier[..cut.min(end)]).expect("a header").collect::<Result<Vec<_>, _>>();
            prop_assert_eq!(Some(read.expect("a cut is no error").len()), whole);
        }

        #[test]
        fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0usize..100) {
            let record = Record { state: vec![5, 0], targets: vec![Some(0.5)], ..Record::default() };
            let kind = Kind { fingerprint: 1, n_words: 2, n_roles: 1 };
            let mut all = written(kind, &vec![record; 20], 7);
            let at = at.min(all.len());
            all.splice(at..at, bytes);
            if let Ok(records) = Records::new(&all[..]) {
                prop_assert!(records.take(100).count() <= 100);
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let kind = Kind { fingerprint: 7, n_words: 1, n_roles: 2 };
        let record =
            |step: u32| Record { state: vec![u64::from(step)], targets: vec![None; 2], step, ..Record::default() };
        let mut bytes = written(kind, &[record(1), record(2), record(3)], 1);
        assert!(matches!(Records::new(&bytes[..10]), Err(RecordError::NotRecords)));
        assert!(matches!(Records::new(&b"nothing of the kind, but long enough"[..]), Err(RecordError::NotRecords)));
        // A block in the midst.
        bytes[HEADER + BLOCK_HEADER] ^= 1;
        let read: Vec<_> = Records::new(&bytes[..]).expect("a header").collect();
        assert!(matches!(read[..], [Err(RecordError::Damaged)]));
        bytes[8] = 9;
        assert!(matches!(Records::new(&bytes[..]), Err(RecordError::Version(9))));
    }

    /// Also where the hash fits: a role that is not there, and more than all there is to expect.
    #[test]
    fn what_is_out_of_range_is_refused() {
        let kind = Kind { fingerprint: 7, n_words: 1, n_roles: 2 };
        for block in [&[MOVER, 0, 0, 3, 0][..], &[TARGETS, 0, 0, 0, 0xff, 0xff, 3, 0]] {
            let mut bytes = written(kind, &[], 1);
            bytes.truncate(HEADER);
            bytes.extend((block.len() as u32).to_le_bytes());
            bytes.extend(hash(block).to_le_bytes());
            bytes.extend(block);
            let read: Vec<_> = Records::new(&bytes[..]).expect("a header").collect();
            assert!(matches!(read[..], [Err(RecordError::Damaged)]), "{read:?}");
        }
    }

    /// Positions of a match differ in a few fluents, and take a few bytes each.
    #[test]
    fn matches_take_little_room() {
        let kind = Kind { fingerprint: 7, n_words: 4, n_roles: 2 };
        let step = |step: u32| Record {
            state: vec![(1 << step) - 1, 1 << (step % 2), 0, 0],
            mover: Some((step % 2) as u8),
            targets: vec![Some(1.0), Some(0.0)],
            number: 3,
            step,
        };
        let records: Vec<Record> = (0..40).map(step).collect();
        let n = written(kind, &records, 1_000).len();
        assert!(n < 40 * 10, "{n} bytes");
    }
}
