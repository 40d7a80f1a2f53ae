//! Positions as bytes: a header, the columns one after another, and a checksum. Numbers are little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `SENETPOS` |
//! | 4 | version |
//! | 4, 4 | words of a state, roles |
//! | 8 | positions |
//! | 8 | fingerprint of the game |
//! | … | states, results, matches, plies, levels, whether terminal |
//! | 8 | hash of all of the above |

use std::fmt;

use super::{Positions, UNKNOWN};

const MAGIC: &[u8; 8] = b"SENETPOS";
const HEADER: usize = 36;
/// The version of the format.
pub const VERSION: u32 = 1;

/// Why bytes are no positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damaged {
    /// They don't begin as stored positions do.
    NotPositions,
    /// They are of a version that is not known here.
    Version(u32),
    /// There are fewer or more of them than the header says.
    Length,
    /// Their checksum is wrong.
    Checksum,
    /// A number is out of its range.
    Range,
}

impl fmt::Display for Damaged {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Damaged::NotPositions => write!(out, "these are no stored positions"),
            Damaged::Version(version) => write!(out, "positions of version {version}; this program knows {VERSION}"),
            Damaged::Length => write!(out, "stored positions are cut short or too long"),
            Damaged::Checksum => write!(out, "stored positions are damaged: the checksum is wrong"),
            Damaged::Range => write!(out, "stored positions are damaged: a number is out of range"),
        }
    }
}

impl std::error::Error for Damaged {}

impl Positions {
    /// The positions as bytes; [`Positions::from_bytes`] reads them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + 8 + self.states.len() * 8 + self.len() * (8 + self.n_roles));
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.n_words as u32).to_le_bytes());
        bytes.extend((self.n_roles as u32).to_le_bytes());
        bytes.extend((self.len() as u64).to_le_bytes());
        bytes.extend(self.fingerprint.to_le_bytes());
        self.states.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(&self.results);
        self.matches.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        self.plies.iter().for_each(|ply| bytes.extend(ply.to_le_bytes()));
        bytes.extend(&self.levels);
        bytes.extend(self.terminal.iter().map(|&terminal| u8::from(terminal)));
        bytes.extend(hash(&bytes).to_le_bytes());
        bytes
    }

    /// Reads what [`Positions::to_bytes`] wrote. Whether it is of the right game, the fingerprint says.
    pub fn from_bytes(bytes: &[u8]) -> Result<Positions, Damaged> {
        // Step 1. The header, and whether the length is what it says.
        if !bytes.starts_with(MAGIC) {
            return Err(Damaged::NotPositions);
        }
        let body = bytes.len().checked_sub(8).filter(|&end| end >= HEADER).ok_or(Damaged::Length)?;
        let mut columns = Columns(&bytes[8..body]);
        let version = columns.u32();
        if version != VERSION {
            return Err(Damaged::Version(version));
        }
        let (n_words, n_roles) = (columns.u32() as usize, columns.u32() as usize);
        let n = columns.u64();
        let fingerprint = columns.u64();
        let each = 8 * n_words as u128 + n_roles as u128 + 8;
        if u128::from(n) * each != columns.0.len() as u128 {
            return Err(Damaged::Length);
        }
        if hash(&bytes[..body]) != Columns(&bytes[body..]).u64() {
            return Err(Damaged::Checksum);
        }
        // Step 2. The columns; all of them fit, as their lengths add up.
        let n = n as usize;
        let positions = Positions {
            fingerprint,
            n_words,
            n_roles,
            states: (0..n * n_words).map(|_| columns.u64()).collect(),
            results: columns.take(n * n_roles).to_vec(),
            matches: (0..n).map(|_| columns.u32()).collect(),
            plies: (0..n).map(|_| u16::from_le_bytes([columns.u8(), columns.u8()])).collect(),
            levels: columns.take(n).to_vec(),
            terminal: columns.take(n).iter().map(|&terminal| terminal != 0).collect(),
        };
        let known = |&result: &u8| result <= 100 || result == UNKNOWN;
        if positions.results.iter().all(known) { Ok(positions) } else { Err(Damaged::Range) }
    }
}

/// Bytes that are read from the front. Reading beyond the end gives zeros; lengths are checked before.
struct Columns<'a>(&'a [u8]);

impl<'a> Columns<'a> {
    fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn u8(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn u32(&mut self) -> u32 {
        self.take(4).iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
    }

    fn u64(&mut self) -> u64 {
        self.take(8).iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }
}

/// The 64-bit FNV-1a hash.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::super::tests::any_positions;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_reads_back(positions in any_positions()) {
            prop_assert_eq!(Positions::from_bytes(&positions.to_bytes()), Ok(positions));
        }

        #[test]
        fn what_is_cut_short_or_changed_is_refused(positions in any_positions(), at in any::<usize>(), flip in 1u8..) {
            let bytes = positions.to_bytes();
            prop_assert!(Positions::from_bytes(&bytes[..at % bytes.len()]).is_err());
            let mut changed = bytes.clone();
            changed[at % bytes.len()] ^= flip;
            prop_assert!(Positions::from_bytes(&changed).is_err());
            let mut longer = bytes;
            longer.push(flip);
            prop_assert!(Positions::from_bytes(&longer).is_err());
        }

        /// Also where the header says how much there is and the checksum fits.
        #[test]
        fn anything_at_all_is_read_or_refused(numbers in any::<(u32, u32, u64, u64)>(), rest in any::<Vec<u8>>()) {
            let mut bytes = [MAGIC.as_slice(), &VERSION.to_le_bytes()].concat();
            bytes.extend((numbers.0 % 5).to_le_bytes());
            bytes.extend((numbers.1 % 5).to_le_bytes());
            bytes.extend((numbers.2 % 8).to_le_bytes());
            bytes.extend(numbers.3.to_le_bytes());
            bytes.extend(rest);
            bytes.extend(hash(&bytes).to_le_bytes());
            if let Ok(positions) = Positions::from_bytes(&bytes) {
                prop_assert_eq!(positions.states.len(), positions.len() * positions.n_words);
            }
        }
    }

    #[test]
    fn huge_counts_are_refused_before_memory_is_taken() {
        let mut bytes = [MAGIC.as_slice(), &VERSION.to_le_bytes(), &[255; 24]].concat();
        bytes.extend(hash(&bytes).to_le_bytes());
        assert_eq!(Positions::from_bytes(&bytes), Err(Damaged::Length));
    }
}
