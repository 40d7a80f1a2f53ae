//! Rules that no keyword relation needs (GDL0502): they have no effect on the game.
//!
//! ```text
//! (<= (blocked ?x) (true (cell ?x w)))  ; and nothing uses `blocked`
//! ```
//!
//! Relations that only unused ones use are named in the same report.

use rustc_hash::FxHashSet;

use super::near::nearest;
use super::{Context, Findings, list};
use crate::diagnostic::{Code, Diagnostic};
use crate::program::Relation;
use crate::symbol::Symbols;

/// What a misspelt head may have been meant to be.
const KEYWORDS: [(&str, u32); 8] =
    [("role", 1), ("init", 1), ("next", 1), ("legal", 2), ("goal", 2), ("terminal", 0), ("base", 1), ("input", 2)];

pub(super) fn check(context: &Context<'_>, found: &mut Findings) {
    if !context.complete {
        return;
    }
    let roots = context.definitions.keys().filter(|relation| Symbols::is_keyword(relation.name)).copied();
    let needed = context.graph.needed_by(roots);
    let mut unused = context.definitions.clone();
    unused.retain(|relation, _| !needed.contains(relation) && !found.explained.contains(relation));
    // A relation that another unused one needs goes with that; of a cycle, the first stands for all.
    let component = |relation: Relation| context.graph.component(relation);
    let mut covered: FxHashSet<usize> = FxHashSet::default();
    for &relation in unused.keys() {
        let read = context.graph.read_by(relation).map(component);
        covered.extend(read.filter(|&read| read != component(relation)));
    }
    let mut tops: Vec<Relation> = unused.keys().copied().collect();
    tops.retain(|&relation| covered.insert(component(relation)));
    for relation in tops {
        found.report(Code::UnreachableRule, |code| {
            let mut with: Vec<Relation> = context.graph.needed_by([relation]).into_iter().collect();
            with.retain(|other| *other != relation && unused.contains_key(other));
            with.sort_unstable_by_key(|other| unused[other][0].span);
            let rules = &context.definitions[&relation];
            let name = context.name(relation.name);
            let mut finding = Diagnostic::new(code, rules[0].head.span, format!("relation `{name}` is never used"))
                .label(match rules.len() {
                    1 => "this has no effect on the game".to_owned(),
                    2 => "this and another rule have no effect on the game".to_owned(),
                    n => format!("this and {} other rules have no effect on the game", n - 1),
                });
            if !with.is_empty() {
                let names: Vec<&str> = with.iter().take(6).map(|other| context.name(other.name)).collect();
                let more = if with.len() > 6 { format!(" and {} more", with.len() - 6) } else { String::new() };
                finding = finding.note(format!("only unused rules need {}{more}", list(&names)));
            }
            // A typo is rarely made more than twice.
            let keywords = KEYWORDS.iter().filter(|&&(_, arity)| arity == relation.arity && rules.len() <= 2);
            match nearest(name, keywords.map(|(keyword, _)| *keyword)) {
                Some(keyword) => finding.help(format!("did you mean `{keyword}`?")),
                None => finding.help(format!("remove it, or use `{name}` in a rule that matters")),
            }
        });
    }
}
