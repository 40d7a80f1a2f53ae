//! Records of matches, in the JSON that viewers and archives of general game playing read.
//!
//! A record is complete after every step: `states` has one more element than `moves`, and so have `stateTimes` and `errors`, whose
//! first row is about the start. States are lists of fluents; moves and errors have one text for each role. An error
//! is empty, `TO` (no answer in time), `CE` (no connection, or nothing came through) or `IL` with the illegal move. Times
//! are milliseconds since 1970.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::store::write_whole;

/// A match, as far as it has been played.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The name of the match.
    pub match_id: String,
    /// Letters that nobody can guess, so that records are told apart.
    #[serde(default)]
    pub random_token: String,
    /// When it began.
    pub start_time: u64,
    /// Where the game's description is; viewers look there for a picture.
    #[serde(rename = "gameMetaURL", default, skip_serializing_if = "Option::is_none")]
    pub game_meta_url: Option<String>,
    /// What the manager calls the game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub game_name_from_host: Option<String>,
    /// The tournament that the match is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tournament_name_from_host: Option<String>,
    /// Who plays each role.
    pub player_names_from_host: Vec<String>,
    /// Whether each of them is a person.
    #[serde(default)]
    pub is_player_human: Vec<bool>,
    /// Seconds to look at the rules before the match; -1 for none.
    #[serde(default = "no_clock")]
    pub preview_clock: f64,
    /// Seconds to prepare.
    pub start_clock: f64,
    /// Seconds for a move.
    pub play_clock: f64,
    /// Seconds to look at the match behind it; -1 for none.
    #[serde(default = "no_clock")]
    pub analysis_clock: f64,
    /// Whether each player got the rules under meaningless names. The record has the true ones.
    #[serde(default)]
    pub scrambled: bool,
    /// The states, the first included.
    pub states: Vec<String>,
    /// When each state was reached.
    pub state_times: Vec<u64>,
    /// The joint moves.
    pub moves: Vec<Vec<String>>,
    /// What went wrong on the way to each state.
    #[serde(default)]
    pub errors: Vec<Vec<String>>,
    /// What each role got.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goal_values: Vec<i64>,
    /// Whether it was played to its end.
    pub is_completed: bool,
    /// Whether it was given up.
    #[serde(default)]
    pub is_aborted: bool,
    /// For each role, how long its longest answer to `PLAY` took; a missing one counts as long as it was waited for.
    #[serde(skip)]
    pub slowest: Vec<Duration>,
}

fn no_clock() -> f64 {
    -1.0
}

impl Record {
    /// The record as JSON.
    pub fn json(&self) -> String {
        let mut value = serde_json::to_value(self).expect("a record has only plain values");
        // Other programs read whole numbers.
        for clock in ["previewClock", "startClock", "playClock", "analysisClock"] {
            if let Some(seconds) = value[clock].as_f64().filter(|seconds| seconds.fract() == 0.0) {
                value[clock] = (seconds as i64).into();
            }
        }
        value.to_string()
    }

    /// Reads a record.
    pub fn read(json: &str) -> serde_json::Result<Record> {
        serde_json::from_str(json)
    }

    /// Writes the record into a folder, so that there is a whole one under its name at every moment, even after a crash.
    pub fn save(&self, folder: &Path) -> io::Result<PathBuf> {
        let letter = |letter: char| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '_' };
        let name: String = self.match_id.chars().map(letter).collect();
        let path = folder.join(format!("{name}.json"));
        write_whole(&path, self.json().as_bytes())?;
        Ok(path)
    }

    /// How many moves and starts of a role went wrong.
    pub fn n_errors(&self, role: usize) -> usize {
        self.errors.iter().filter(|row| row.get(role).is_some_and(|error| !error.is_empty())).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record as an archive has it, shortened.
    const ARCHIVED: &str = r#"{"matchId":"tiltyard.connectFour.1445110321","randomToken":"k2Jd8","startTime":1445110321000,
        "gameMetaURL":"http://games.ggp.org/base/games/connectFour/v0/","isCompleted":true,"isAborted":false,
        "states":["( ( control red ) )","( ( control black ) )"],"moves":[["( drop 4 )","noop"]],
        "stateTimes":[1445110321000,1445110337000],"errors":[["",""],["","TO"]],"goalValues":[100,0],
        "previewClock":-1,"startClock":60,"playClock":15,"playerNamesFromHost":["A","B"],"scrambled":true,
        "matchHostSignature":"x","matchHostPK":"y"}"#;

    #[test]
    fn archived_records_are_read_and_written() {
        let record = Record::read(ARCHIVED).expect("it is one");
        assert_eq!(record.moves, [["( drop 4 )", "noop"]]);
        assert_eq!((record.n_errors(0), record.n_errors(1)), (0, 1));
        let written: serde_json::Value = serde_json::from_str(&record.json()).expect("JSON");
        let read: serde_json::Value = serde_json::from_str(ARCHIVED).expect("JSON");
        for (key, value) in read.as_object().expect("an object") {
            if !key.starts_with("matchHost") {
                assert_eq!(written[key], *value, "{key}");
            }
        }
        assert_eq!(Record::read(&record.json()).expect("it is one"), record);
    }

    #[test]
    fn short_clocks_are_kept() {
        let record = Record { play_clock: 0.25, start_clock: 2.0, preview_clock: -1.0, ..Record::default() };
        let value: serde_json::Value = serde_json::from_str(&record.json()).expect("JSON");
        assert_eq!((value["playClock"].as_f64(), value["startClock"].as_i64()), (Some(0.25), Some(2)));
        assert_eq!(value["previewClock"], -1);
    }
}
