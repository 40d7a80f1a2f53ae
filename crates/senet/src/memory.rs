//! The memory of games, as the commands use it.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::anyhow;
use arena::Store;

use crate::library;
use crate::screen;

/// Opens the memory: the file that was named, or the usual one. The library's games are in it from the start. What its user should
/// know, such as that files are missing, is said on standard error.
pub(crate) fn open(file: Option<PathBuf>) -> anyhow::Result<Store> {
    let path = match file {
        Some(path) => path,
        None => Store::default_path()?,
    };
    let mut store = Store::open(&path).map_err(|error| match error.is_damage() {
        true => anyhow!("{error}; `senet memory salvage` saves the rest of it"),
        false => error.into(),
    })?;
    if screen::is_seen()[1] && store.games()?.is_empty() {
        screen::complain(format_args!("learning the {} games of the library ...", library::GAMES.len()));
    }
    arena::refresh(&mut store)?;
    arena::seed(&mut store, library::GAMES.iter().map(|game| (game.name, game.rules)), now())?;
    store.notices().iter().for_each(|notice| screen::complain(format_args!("note: {notice}")));
    Ok(store)
}

/// The time, in seconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

/// The day of a time, as `2026-11-30`, in UTC.
pub(crate) fn day(seconds: i64) -> String {
    // Howard Hinnant's way from days to dates: years begin in March, so that the leap day comes last.
    let days = seconds.div_euclid(86_400) + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (era * 400 + year_of_era + month / 10, (month + 2) % 12 + 1);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::day;

    #[test]
    fn days_have_dates() {
        let dates = [(0, "1970-01-01"), (951_782_400, "2000-02-29"), (1_767_225_599, "2025-12-31"), (-1, "1969-12-31")];
        dates.into_iter().for_each(|(seconds, date)| assert_eq!(day(seconds), date));
    }
}
