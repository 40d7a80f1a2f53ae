//! Likely typos: the name that was probably meant.

/// How many candidates are compared, and how long a name may be to be compared: beyond that, typos are the least worry.
const MAX_CANDIDATES: usize = 3000;
const MAX_LETTERS: usize = 40;

/// The candidate that is most likely meant by `name`: the one with the fewest mistakes, the first of several, or none
/// if more than a third of the letters are wrong. Case does not matter.
pub(super) fn nearest<'n>(name: &str, candidates: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let wanted: Vec<char> = name.to_ascii_lowercase().chars().collect();
    let allowed = (wanted.len() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    if wanted.len() > MAX_LETTERS {
        return None;
    }
    for candidate in candidates.into_iter().take(MAX_CANDIDATES) {
        let letters: Vec<char> = candidate.to_ascii_lowercase().chars().collect();
        // Names of one or two letters are all near each other, and numbers are different on purpose.
        let too_short = wanted.len().min(letters.len()) < 3 || wanted.len().max(letters.len()) < 4;
        if wanted == letters || too_short || wanted.len().abs_diff(letters.len()) > allowed || is_number(candidate) {
            continue;
        }
        let distance = distance(&wanted, &letters);
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

/// How many letters must be inserted, removed, replaced or swapped with their neighbour to get from one word to the
/// other. (Optimal string alignment: no letter takes part in two of these.)
pub(super) fn distance(left: &[char], right: &[char]) -> usize {
    let width = right.len() + 1;
    let mut rows = [vec![0; width], (0..width).collect(), vec![0; width]];
    for (i, &a) in left.iter().enumerate() {
        let [before, above, row] = &mut rows;
        row[0] = i + 1;
        for (j, &b) in right.iter().enumerate() {
            row[j + 1] = (above[j] + usize::from(a != b)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a == right[j - 1] && left[i - 1] == b {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        rows.rotate_left(1);
    }
    rows[1][right.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn distances_count_single_mistakes() {
        let distance = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!(distance("", ""), 0);
        assert_eq!(distance("next", "next"), 0);
        assert_eq!(distance("nxet", "next"), 1);
        assert_eq!(distance("termnal", "terminal"), 1);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("cell", "bells"), 2);
    }

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("nxet", ["goal", "next", "text"]), Some("next"));
        assert_eq!(nearest("Adjcent", ["adjacent", "succ"]), Some("adjacent"));
        assert_eq!(nearest("x", ["y", "z"]), None);
        assert_eq!(nearest("queen", ["bishop"]), None);
        assert_eq!(nearest("1001", ["1002"]), None);
    }
}
